#include "log/batching.hpp"

#include <algorithm>

namespace beckon::log {

void Batching::begun(bool stage_has_room, bool waited, SteadyTime now) {
    if (!waited) return;
    const auto took = now - written_;  // by the stage behind, which may need even longer
    if (stage_has_room && took < kWaitMax / 2) {
        records_max_ = std::min(2 * records_max_, kRecordsMost);
    } else if (took >= kWaitMax) {
        records_max_ = std::max(records_max_ / 2, kRecordsLeast);
    }
}

}  // namespace beckon::log
