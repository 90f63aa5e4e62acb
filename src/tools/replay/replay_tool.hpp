#pragma once

#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "tools/replay/record_json.hpp"
#include "tools/replay/selection.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>

/// The tool `beckon replay`. It only reads. Blocking, main thread only.
namespace beckon::tools {

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
