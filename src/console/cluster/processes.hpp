#pragma once

#include "cluster/liveness.hpp"
#include "core/clock.hpp"
#include "core/record.hpp"
#include "records/process.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beckon::console {

/// The processes of the installation, by the records that they publish of themselves. No clock; one
/// thread. Bounded: of more than kProcessesMax the one that was silent for longest is forgotten.
class Processes {
public:
    static constexpr std::size_t kProcessesMax = 1'000;
    /// Two records that are closer together give no rate.
    static constexpr core::Duration kRateMin = std::chrono::seconds{1};

    struct Seen {
        cluster::ProcessRecord record;
        core::Timestamp at{};        ///< when it was last heard of
        core::Duration clock_off{};  ///< of its host, against the log's; positive: ahead
        bool clock_known = false;
        /// Of its counters, per second, between its last two records.
        std::map<std::string, double> rates = {};
    };

    /// A record of `ownership`; others than those of processes are ignored. `heard`: when, by the
    /// clock of all other times here.
    void apply(const core::RecordView& record, core::Timestamp heard);
    /// The report of this process itself, which did not come through the log.
    void tell(const cluster::ProcessRecord& record, core::Timestamp now);
    /// Forgets processes that were silent for longer than the history window, and processes that a
    /// later start of the same role at the same address has replaced.
    void forget(core::Timestamp now, core::Duration history_window);

    /// Nothing could be heard from `away` to `back`: that silence is no sign of death. A process
    /// that lived before has the time of a whole silence again.
    void skip_silence(core::Timestamp away, core::Timestamp back);

    /// By role and id.
    const std::map<std::string, Seen>& all() const { return seen_; }
    /// nullptr: none of that role and id is known.
    const Seen* find(const std::string& role, const std::string& id) const;

    static bool is_gone(const Seen& seen, core::Timestamp now) {
        return !cluster::is_alive({.member = true, .silent = now - seen.at});
    }

private:
    Seen& take(const cluster::ProcessRecord& record, core::Timestamp heard);

    std::map<std::string, Seen> seen_;
};

struct ProcessFacts {
    std::string role;
    std::string name;  ///< of its host, with the port where several are on one
    std::string id = {};
    std::string version = {};
    bool gone = false;
    bool ready = true;
    core::Duration silent{};
    core::Duration uptime{};
    std::vector<std::string> faults = {};
    std::vector<std::string> warnings = {};
    /// By how much its host's clock is ahead of the log's; negative: behind.
    std::optional<core::Duration> clock_off = std::nullopt;
    /// Until the first of its certificates expires; negative: it has expired.
    std::optional<core::Duration> certificate_left = std::nullopt;
    std::map<std::string, double> gauges = {};
    std::map<std::string, double> rates = {};  ///< of its counters, per second
    /// The nodes that have taken its partitions over, with how many.
    std::vector<std::pair<std::string, std::size_t>> taken_over = {};
};

/// POSTs to one endpoint URL that an endpoint refused of late, for one reason.
struct RefusedFacts {
    std::string by;  ///< the endpoint, as a person names it
    cluster::RefusedSend send;
};

struct HomelessFacts {
    std::string role;
    std::vector<int> partitions;  ///< without a home that serves them
};

/// A partition that gets several times the records of the others (cluster/overview.hpp).
struct HotFacts {
    std::string role;
    int partition = 0;
    std::string home;        ///< the node, as a person names it
    std::uint64_t load = 0;  ///< records per second
};

}  // namespace beckon::console
