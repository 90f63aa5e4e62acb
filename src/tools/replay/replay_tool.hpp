#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/record.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "log/topic.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

/// The tool `beckon replay`. It only reads. Blocking, main thread only.
namespace beckon::tools {

/// A selection of the records of some log topics. A member that is not given does not restrict it.
struct Selection {
    std::vector<log::Topic> topics{log::Topic::kNotifications};  ///< at least one
    std::optional<core::Partition> partition = std::nullopt;
    core::Offset from = 0;
    core::Offset until = std::numeric_limits<core::Offset>::max();
    std::optional<core::Timestamp> since = std::nullopt;  ///< append time, included
    std::optional<core::Timestamp> to = std::nullopt;     ///< append time, excluded
    std::optional<core::Uaid> client =
        std::nullopt;  ///< of `notifications` and `subscriptions` only
    std::optional<core::ChannelId> channel = std::nullopt;
    std::optional<core::MessageKey> message = std::nullopt;
    std::string key = {};  ///< the whole key; empty: any
};

/// The part of one partition that may hold selected records.
struct SelectedRange {
    log::TopicPartition where;
    core::Offset from = 0;
    core::Offset until = 0;
    bool operator==(const SelectedRange&) const = default;
};

/// The partitions of a selection, whether they exist or not: only that of a client, if one is
/// given.
std::vector<log::TopicPartition> partitions_of(const Selection& selection,
                                               core::Partition partitions);

/// The ranges to read: a client's partition only, if one is given; from the first record in time to
/// the end. Errors: not_found (no such partition), those of log/read_partition.hpp.
core::Result<std::vector<SelectedRange>> ranges_of(log::EventLog& log, const Selection& selection,
                                                   core::Partition partitions,
                                                   std::chrono::milliseconds timeout);

/// Judges record by record. The removal of a client is one of each of its channels. A tombstone
/// does not name the channel of its message, so the keys of the messages that were seen are
/// remembered, up to kKeysMax of them.
class Filter {
public:
    static constexpr std::size_t kKeysMax = 1'000'000;

    explicit Filter(Selection selection);
    /// In the order of the log.
    bool admits(const core::RecordView& record);
    /// True if no record behind it in its partition is admitted.
    bool is_past(const core::RecordView& record) const {
        return selection_.to && record.time >= *selection_.to;
    }

private:
    bool names_channel(const core::RecordView& record);

    const Selection selection_;
    const std::string client_;   ///< in hex; empty: any
    const std::string channel_;  ///< dashed; empty: any
    const std::string message_;  ///< in hex; empty: any
    std::unordered_set<std::string> keys_;
};

struct RecordJsonOptions {
    bool values = false;  ///< the values too, in base64url
};

/// Appends a record as one line of JSON:
///   {"topic", "partition", "offset", "time" (ms), "key", "bytes" (null: a tombstone or a read
///   barrier),
///    "headers": {…}, "value"}
/// Bytes of key and headers that are not ASCII stand as the code points of their numbers. Made by
/// hand, since a library's tree of each record would cost more than reading it.
void append_json(std::string& out, log::TopicPartition where, const core::RecordView& record,
                 const RecordJsonOptions& options);

struct ReplayOptions {
    Selection selection = {};
    core::Partition partitions = 1;
    RecordJsonOptions json = {};
    std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();  ///< of records shown
    std::uint64_t rate = 0;  ///< records read in a second at most; 0: as fast as it goes
    std::chrono::milliseconds timeout{10'000};
};

/// Takes whole lines; false: their reader has gone.
using LineSink = std::function<bool(std::string_view lines)>;

/// The counts of a selection's records.
struct ReplayCounts {
    std::uint64_t read = 0;   ///< records read
    std::uint64_t shown = 0;  ///< records admitted
    std::map<std::string, std::uint64_t> by_type;
    std::optional<core::Timestamp> first;
    std::optional<core::Timestamp> last;
};

/// Passes on each record of the selection as a line of JSON, partition by partition. Ends where the
/// partitions ended when it began, or at `stop`. Errors: those of ranges_of() and
/// log/read_partition.hpp.
core::Result<ReplayCounts> show(log::EventLog& log, const ReplayOptions& options,
                                const LineSink& sink, const std::atomic<bool>& stop);

/// Passes on records that are appended from now on, or from the selection's beginning if it names
/// one; all partitions at once, until `stop`.
core::Result<ReplayCounts> follow(log::EventLog& log, const ReplayOptions& options,
                                  const LineSink& sink, const std::atomic<bool>& stop);

/// One JSON object in one line.
std::string counts_json(const ReplayCounts& counts);

}  // namespace beckon::tools
