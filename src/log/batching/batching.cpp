#include "log/batching/batching.hpp"

namespace beckon::log {

void BatchSize::waited(SteadyTime::duration took, bool early) {
    // `took` is the time of the stage behind, which may need even longer.
    if (early && took < wait_max_ / 2) {
        max_ = std::min(2 * max_, bounds_.most);
    } else if (took >= wait_max_) {
        max_ = std::max(max_ / 2, bounds_.least);
    }
}

}  // namespace beckon::log
