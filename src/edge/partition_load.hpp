#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"

#include <cstdint>
#include <map>

namespace beckon::edge {

/// The records of `notifications` per second of each partition that this edge serves, from the
/// offsets that the home had reached at two measurements. One thread.
class PartitionLoad {
public:
    /// The offsets of the partitions of one shard. A partition that is not measured any more is
    /// forgotten at the next rates().
    void measured(const std::map<core::Partition, core::Offset>& up_to, core::MonoTime now);

    /// By partition, of those that were measured twice since the call before last.
    std::map<core::Partition, std::uint64_t> rates();

private:
    struct Point {
        core::Offset offset = 0;
        core::MonoTime at{};
        std::uint64_t rate = 0;
        bool has_rate = false;
        bool is_new = true;  ///< since rates()
    };
    std::map<core::Partition, Point> points_;
};

}  // namespace beckon::edge
