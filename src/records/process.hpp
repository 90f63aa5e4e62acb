#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/record.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The record in which each process reports itself to people, in the log topic `ownership`:
///
///   process/<role>/<id>   beckon.process.v1; null: it has ended as it was asked to
///
/// No role decides anything by it (docs/formats/ownership.md, decision 0219). Pure functions, any
/// thread.
namespace beckon::cluster {

/// How often a process publishes its record.
inline constexpr std::chrono::seconds kProcessEvery{10};

/// A POST to an endpoint URL that an endpoint refused.
struct RefusedSend {
    std::string endpoint;  ///< refused_name() of the URL's last part
    core::Timestamp at{};  ///< of the last of `count`
    int status = 0;
    std::string problem = {};  ///< its code in metrics and log lines
    std::string message = {};  ///< the sentence that its sender got
    std::uint64_t count = 1;
    bool operator==(const RefusedSend&) const = default;
};
/// Names the token of an endpoint URL: a reader of the name cannot send.
std::string refused_name(std::string_view token);

struct ProcessRecord {
    /// Bounds: encode() leaves out entries beyond them. kNumbersMax is of counters and of gauges
    /// each.
    static constexpr std::size_t kNumbersMax = 64;
    static constexpr std::size_t kRefusedMax = 128;
    static constexpr std::size_t kReasonsMax = 5;
    static constexpr std::size_t kReasonBytesMax = 300;
    /// An endpoint of more partitions reports no offsets.
    static constexpr std::size_t kPartitionsMax = 1'024;

    std::string role;       ///< "endpoint", "edge", "retry", "reliability", "console", "standalone"
    std::string id;         ///< of its data directory; the same as NodeRecord::name
    bool removed = false;   ///< a tombstone: it has ended as it was asked to
    std::string name = {};  ///< "host:port" of its ops port, for people
    std::string version = {};
    core::Timestamp started{};
    core::Timestamp at{};  ///< by the clock of its host, which may be wrong
    bool ready = false;
    std::vector<std::string> faults = {};         ///< why it is not ready
    std::vector<std::string> warnings = {};       ///< for a person to mend; it may be ready
    std::map<std::string, double> counters = {};  ///< since its start
    std::map<std::string, double> gauges = {};
    std::vector<RefusedSend> refused = {};  ///< of an endpoint: those of late
    /// Of an endpoint: the next record of each partition of `subscriptions` that its view will
    /// fold.
    std::vector<core::Offset> view = {};
    bool operator==(const ProcessRecord&) const = default;
};

core::Record encode(const ProcessRecord& process);
/// Whether the key is one of a process; the others of the topic are ownership.hpp's.
bool is_process_key(std::string_view key);
/// nullopt: the record is not of a process, or cannot be read.
std::optional<ProcessRecord> decode_process(const core::RecordView& record);

}  // namespace beckon::cluster
