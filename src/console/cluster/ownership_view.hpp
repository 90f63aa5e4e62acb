#pragma once

#include "cluster/overview.hpp"
#include "console/cluster/processes.hpp"
#include "console/lag/lag_table.hpp"
#include "core/clock.hpp"
#include "core/partition.hpp"
#include "fold/topic_state.hpp"
#include "log/event_log.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::console {

/// The state of a node whose process has reported nothing to the log, or that it has ended.
enum class Unreported : std::uint8_t {
    alive,  ///< on the embedded log of a running process: nothing is reported there
    dead,   ///< on Kafka, where a process reports itself before its role begins
};

/// Follows the log topic `ownership` for the console and for `beckon cluster`, `lag` and `doctor`:
/// the home of every role's partitions, and the processes, each with its life
/// (cluster/liveness.hpp). Folds it in memory from the topic's start. While no broker answers,
/// every process is silent: that is no sign of death, so the time of such a silence does not count.
/// The executor's thread, except where it says otherwise.
class OwnershipView {
public:
    struct Options {
        core::Partition partitions = 0;
        Unreported unreported = Unreported::dead;
    };
    /// The clock outlives it.
    OwnershipView(Options options, log::EventLog& log, core::Executor& executor,
                  const core::Clock& clock);
    OwnershipView(const OwnershipView&) = delete;
    OwnershipView& operator=(const OwnershipView&) = delete;

    /// The roles that have ever run. A partition whose home does not live is unplaced. Any thread.
    std::vector<cluster::RoleOverview> roles() const;
    /// The process that reads a partition for one of Beckon's groups, which have no members in
    /// Kafka: the home, or any endpoint. `group`: without the prefix. Any thread.
    Reader reader_of(const std::string& group, core::Partition partition) const;
    /// The views of all endpoints, also of one that was silent for less than kSilentViewFor.
    /// `prefix`: of groups. Any thread.
    Views views(const std::string& prefix) const;
    static constexpr core::Duration kSilentViewFor = std::chrono::hours{1};
    /// HOST:PORT of the ops port of each edge that lives: the host of its link address, and the
    /// port that its process reports. Any thread.
    std::vector<std::string> ops_ports_of_edges() const;
    /// Whether the log can be read now, by the judgement of this process; it is taken to be so
    /// until this is called.
    void log_answers(bool answers);
    /// The report of this process, where it does not publish it.
    void tell(const cluster::ProcessRecord& process);
    /// The processes that live, and those that were silent for less than the history window and
    /// did not say that they ended. Any thread.
    std::vector<ProcessFacts> processes(core::Duration history_window);
    /// The refused POSTs to the endpoint URL whose last part is `token`, the newest first: a sample
    /// of the last hour (ingest/call/refused_sends.hpp). Any thread.
    std::vector<RefusedFacts> refused(std::string_view token) const;
    /// The VAPID keys that send most, by their SHA-256 in hex: messages per second, of all
    /// endpoints that live (ingest/call/busiest_senders.hpp). Any thread.
    std::map<std::string, double> busiest_senders() const;
    /// The partitions that no living node serves. Any thread.
    std::vector<HomelessFacts> homeless() const;
    /// The partitions that get several times the records of the others. Any thread.
    std::vector<HotFacts> hot() const;
    /// All records that were there at the start are folded, and the fold follows. Any thread.
    bool complete() const;

private:
    void apply(const core::RecordView& record);
    void clear();
    void changed();
    core::Timestamp heard(const core::RecordView& record) const;
    const Processes::Seen* process_of(const std::string& role, const std::string& id) const;
    std::string home_of(const std::string& role, core::Partition partition) const;
    bool any_endpoint_lives() const;
    Reader reader_of_view(std::string_view process) const;
    bool lives(const cluster::OwnershipFold& fold, const core::NodeId& node) const;
    bool hears_processes() const;
    core::Timestamp judged_at() const;
    ProcessFacts facts_of(const Processes::Seen& seen) const;

    const core::Clock& clock_;
    const Options options_;
    mutable std::mutex mutex_;
    std::map<std::string, cluster::OwnershipFold> folds_;  ///< by role; under mutex_, as the next
    Processes processes_;
    bool complete_ = false;
    std::optional<core::Timestamp> read_at_;  ///< when all of it was read first
    std::optional<core::Timestamp> away_;     ///< since then the log cannot be read
    fold::TopicState state_;                  ///< first to go: it calls us
};

/// What the lag table asks, answered by the view that `view` gives; null: it is not known yet.
/// `prefix`: of Beckon's own groups and topics; `delays`: of the tiers, by number.
LagTable::Context lag_context(const std::string& prefix, std::vector<std::chrono::seconds> delays,
                              const std::function<std::shared_ptr<const OwnershipView>()>& view);

}  // namespace beckon::console
