#include "ops/loop_watch.hpp"

#include <utility>

namespace beckon::ops {

namespace {

std::string title_of(const std::string& loop) { return "the loop " + loop; }

}  // namespace

std::string why_stalled(const std::string& loop, core::Duration since_last_turn,
                        core::Duration stalled_after) {
    if (since_last_turn < stalled_after) return "";
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_last_turn).count();
    return title_of(loop) + " has been stalled for " + std::to_string(seconds) + " s";
}

WatchedLoop::WatchedLoop(Health& health, const std::string& part, const std::string& loop,
                         std::function<core::Duration()> since_last_turn, core::Duration dead_after)
    : health_(health), name_(part + ": " + title_of(loop)) {
    health_.watch(name_,
                  [what = title_of(loop) + " hangs", since_last_turn = std::move(since_last_turn),
                   dead_after] { return since_last_turn() > dead_after ? what : std::string{}; });
}

WatchedLoop::~WatchedLoop() { health_.watch(name_, nullptr); }

}  // namespace beckon::ops
