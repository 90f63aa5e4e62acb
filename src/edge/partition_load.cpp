#include "edge/partition_load.hpp"

#include <algorithm>
#include <chrono>

namespace beckon::edge {

void PartitionLoad::measured(const std::map<core::Partition, core::Offset>& up_to,
                             core::MonoTime now) {
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

std::map<core::Partition, std::uint64_t> PartitionLoad::rates() {
    std::erase_if(points_, [](const auto& entry) { return !entry.second.is_new; });
    std::map<core::Partition, std::uint64_t> out;
    for (auto& [partition, point] : points_) {
        point.is_new = false;
        if (point.has_rate) out[partition] = point.rate;
    }
    return out;
}

}  // namespace beckon::edge
