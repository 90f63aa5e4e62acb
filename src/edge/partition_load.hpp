#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>

namespace beckon::edge {

/// The records of `notifications` per second of each partition that this edge serves, from the
/// offsets that the home had reached at two measurements. One thread.
class PartitionLoad {
public:
    /// The offsets of the partitions of one shard. A partition that is not measured any more is
    /// forgotten at the next rates().
    void measured(const std::map<core::Partition, core::Offset>& up_to, core::MonoTime now) {
        for (const auto& [partition, offset] : up_to) {
            const auto before = points_.find(partition);
            Point point{.offset = offset, .at = now};
            if (before != points_.end() && now > before->second.at) {
                const auto records = std::max<core::Offset>(offset - before->second.offset, 0);
                const auto seconds = std::chrono::duration<double>(now - before->second.at).count();
                point.rate = static_cast<std::uint64_t>(static_cast<double>(records) / seconds);
                point.has_rate = true;
            }
            points_[partition] = point;
        }
    }

    /// By partition, of those that were measured twice since the call before last.
    std::map<core::Partition, std::uint64_t> rates() {
        std::erase_if(points_, [](const auto& entry) { return !entry.second.is_new; });
        std::map<core::Partition, std::uint64_t> out;
        for (auto& [partition, point] : points_) {
            point.is_new = false;
            if (point.has_rate) out[partition] = point.rate;
        }
        return out;
    }

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
