#pragma once

#include "core/clock.hpp"
#include "ops/health.hpp"

#include <chrono>
#include <functional>
#include <string>

/// Judges the loops of a process by the time since each one's last turn.
namespace beckon::ops {

/// The reason why a loop is stalled: it has not turned for `stalled_after`. Empty: it turns. Pure.
std::string why_stalled(const std::string& loop, core::Duration since_last_turn,
                        core::Duration stalled_after);

/// Lets Health report a loop as dead while it has not turned for `dead_after`, since probably only
/// a restart helps; a later turn takes that back. The caller of Health computes it, so a
/// process whose loops all hang is noticed too. As long as this lives.
class WatchedLoop {
public:
    /// Where no other process could take over, a loop that waits for a slow disk has a minute.
    static constexpr core::Duration kDeadAfter = std::chrono::minutes{1};

    /// `part` is the name in Health. `since_last_turn` is called on any thread and never waits. All
    /// outlive it.
    WatchedLoop(Health& health, const std::string& part, const std::string& loop,
                std::function<core::Duration()> since_last_turn,
                core::Duration dead_after = kDeadAfter);
    ~WatchedLoop();
    WatchedLoop(const WatchedLoop&) = delete;
    WatchedLoop& operator=(const WatchedLoop&) = delete;

private:
    Health& health_;
    const std::string name_;
};

}  // namespace beckon::ops
