#pragma once

#include "core/clock.hpp"
#include "core/enum_names.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "core/tokens.hpp"
#include "inspect/trace/scan.hpp"
#include "log/event_log.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The life of one message, as the log topics have it. Blocking.
namespace beckon::inspect {

/// One step of it. `offset` is absent where the step follows from others and has no record.
struct TraceStep {
    core::Timestamp at{};
    std::string topic;
    core::Partition partition = 0;
    std::optional<core::Offset> offset;
    std::string what;       ///< a word for scripts: "accepted", "finished", "home", …
    std::string why;        ///< a sentence for people
    std::string message{};  ///< in the life of a client: the message, as log lines name it
    std::string reason{};   ///< of "finished": the tombstone's
    std::string sent{};     ///< of "finished", as core::kSentHeader says it; empty: it does not
    bool operator==(const TraceStep&) const = default;
};

/// How it ended, or that it did not.
enum class TraceOutcome : std::uint8_t {
    unknown,   ///< the log has nothing of it
    waiting,   ///< accepted, and no end of it
    overdue,   ///< its TTL is over, and the log has no end of it yet
    finished,  ///< the log has its reason
};
inline std::string_view to_string(TraceOutcome outcome) { return core::name_of(outcome); }

struct MessageTrace {
    core::MessageRef message;
    core::Partition partition = 0;
    std::optional<std::string> reliability_id;
    TraceOutcome outcome = TraceOutcome::unknown;
    bool homeless = false;         ///< it waits, and no living node serves its client
    std::string verdict;           ///< a sentence or two
    std::vector<TraceStep> steps;  ///< in order of time
};

struct TraceOptions {
    core::Partition partitions = 1;
    core::Timestamp now{};
    ScanLimits limits = {};
    /// Asked of a message that waits: no living node serves its client's partition. May be empty.
    std::function<bool(core::Partition)> homeless = {};
};

/// Finds a message by its key, which has the time of its creation to the millisecond, by the clock
/// of the endpoint's host: the records of its partition from then until its end are read, and the
/// whole partition if they do not have it. If the limits end that, the verdict says which part was
/// searched. Errors: those of scan().
core::Result<MessageTrace> trace_message(log::EventLog& log, const core::MessageRef& message,
                                         const TraceOptions& options);

/// Finds the message with the key that log lines and pages name it by: around the time in the key
/// in all partitions, then everywhere. nullopt: the log has no such message. Errors: the same.
core::Result<std::optional<core::MessageRef>> find_message(log::EventLog& log,
                                                           const core::MessageKey& key,
                                                           const TraceOptions& options);

/// Finds the message with a reliability id: its milestones have the time when it was received, and
/// around that time all partitions are searched. nullopt: the log has no such message. Errors: the
/// same.
core::Result<std::optional<core::MessageRef>> find_tracked(log::EventLog& log,
                                                           const std::string& reliability_id,
                                                           const TraceOptions& options);

/// When a message key was made (UUIDv7, RFC 9562 §5.7).
core::Timestamp made_at(const core::MessageKey& key);

}  // namespace beckon::inspect
