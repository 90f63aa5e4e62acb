#include "ops/loop_watch.hpp"

namespace beckon::ops {

std::string LoopWatch::why_stalled(const std::string& loop, core::Duration since_last_turn) const {
    const auto what = "the loop " + loop;
    health_.set_dead(part_ + ": " + what, since_last_turn > kDeadAfter ? what + " hangs" : "");
    if (since_last_turn < stalled_after_) return "";
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_last_turn).count();
    return what + " has been stalled for " + std::to_string(seconds) + " s";
}

}  // namespace beckon::ops
