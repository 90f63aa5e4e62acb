#pragma once

#include "core/clock.hpp"
#include "core/lifetime.hpp"
#include "log/event_log.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace beckon::log {

/// Membership of groups whose members all live in this process (memory and embedded log): a table
/// of heartbeats on a Clock. A member without a heartbeat for its session time-out is dead; its
/// next heartbeat makes it join anew, as the newest. `first` is the living member that joined
/// first.
///
/// Thread-safe. Outlives its members.
class LocalMembership {
public:
    explicit LocalMembership(const core::Clock& clock) : clock_(clock) {}

    std::unique_ptr<Member> join(MemberOptions options, core::Executor& executor,
                                 std::function<void(const Members&)> changed);

    /// While suspended no member is taken for dead; at the end all start with a fresh heartbeat.
    /// (The broker is away: it can neither receive heartbeats nor expel members.)
    void suspend(bool suspended);

    /// Members that are destroyed from now on were killed: they say nothing, so the group has them
    /// until their time-out, and names its members to nobody before that, as a group of Kafka that
    /// waits for a dead member.
    void kill_members(bool killed);

private:
    struct Entry;
    class LocalMember;

    void check(const std::string& group);
    void announce(const std::vector<std::shared_ptr<Entry>>& entries) const;
    Members view_of(const Entry& entry) const;

    const core::Clock& clock_;
    mutable std::mutex mutex_;
    bool suspended_ = false;
    bool kills_ = false;
    std::uint64_t joined_ = 0;  ///< numbers the joins, for `first`
    std::map<std::string, std::vector<std::shared_ptr<Entry>>> groups_;
};

}  // namespace beckon::log
