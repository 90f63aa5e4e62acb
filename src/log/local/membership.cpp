#include "log/local/membership.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace beckon::log {

namespace {

/// How often a member looks for dead ones, in parts of its session time-out.
constexpr int kChecksPerSession = 4;

}  // namespace

struct LocalMembership::Entry {
    Entry(MemberOptions o, core::Lifetime::Remote m, std::function<void(const Members&)> c)
        : options(std::move(o)), member(std::move(m)), changed(std::move(c)) {}

    const MemberOptions options;
    const core::Lifetime::Remote member;
    const std::function<void(const Members&)> changed;

    // Under the table's mutex.
    bool alive = false;
    bool killed = false;  ///< its process is gone, and the group has not missed it yet
    std::uint64_t joined = 0;
    core::MonoTime received{};

    // On the member's thread.
    std::optional<Members> reported;
};

class LocalMembership::LocalMember final : public Member {
public:
    LocalMember(LocalMembership& table, MemberOptions options, core::Executor& executor,
                std::function<void(const Members&)> changed)
        : table_(table),
          lifetime_(executor),
          entry_(
              std::make_shared<Entry>(std::move(options), lifetime_.remote(), std::move(changed))) {
        join();
        check_members_later();
    }
    ~LocalMember() override {
        lifetime_.end();
        const std::scoped_lock lock{table_.mutex_};
        auto& entries = table_.groups_[entry_->options.group];
        if (table_.kills_ && entry_->alive) {
            entry_->killed = true;
            return;
        }
        std::erase(entries, entry_);
        entry_->alive = false;
        table_.announce(entries);
    }

    void still_alive() override {
        {
            const std::scoped_lock lock{table_.mutex_};
            entry_->received = table_.clock_.mono();
            if (entry_->alive) return;
        }
        join();
    }

private:
    void join() {
        const std::scoped_lock lock{table_.mutex_};
        auto& entries = table_.groups_[entry_->options.group];
        if (std::find(entries.begin(), entries.end(), entry_) == entries.end())
            entries.push_back(entry_);
        entry_->alive = true;
        entry_->joined = ++table_.joined_;
        entry_->received = table_.clock_.mono();
        table_.announce(entries);
    }

    /// The member's own timer drives the search for dead ones: as long as the thread of one member
    /// turns, it notices the others' deaths.
    void check_members_later() {
        const auto pause = entry_->options.session_timeout / kChecksPerSession;
        entry_->member.post_after(pause, [this] {
            table_.check(entry_->options.group);
            check_members_later();
        });
    }

    LocalMembership& table_;
    core::Lifetime lifetime_;
    const std::shared_ptr<Entry> entry_;
};

std::unique_ptr<Member> LocalMembership::join(MemberOptions options, core::Executor& executor,
                                              std::function<void(const Members&)> changed) {
    return std::make_unique<LocalMember>(*this, std::move(options), executor, std::move(changed));
}

void LocalMembership::suspend(bool suspended) {
    const std::scoped_lock lock{mutex_};
    suspended_ = suspended;
    for (auto& [name, entries] : groups_) {
        for (const auto& entry : entries) entry->received = clock_.mono();
    }
}

void LocalMembership::kill_members(bool killed) {
    const std::scoped_lock lock{mutex_};
    kills_ = killed;
}

void LocalMembership::check(const std::string& group) {
    const std::scoped_lock lock{mutex_};
    if (suspended_) return;
    const auto now = clock_.mono();
    bool somebody_died = false;
    auto& entries = groups_[group];
    for (const auto& entry : entries) {
        if (!entry->alive || now - entry->received < entry->options.session_timeout) continue;
        entry->alive = false;
        somebody_died = true;
    }
    std::erase_if(entries, [](const auto& entry) { return entry->killed && !entry->alive; });
    if (somebody_died) announce(entries);
}

/// Under the mutex. Each member's state is read when its task runs, so that a burst of changes ends
/// in one call with the newest state.
void LocalMembership::announce(const std::vector<std::shared_ptr<Entry>>& entries) const {
    if (std::any_of(entries.begin(), entries.end(), [](const auto& e) { return e->killed; }))
        return;
    for (const auto& entry : entries) {
        entry->member.post([this, entry] {
            auto members = view_of(*entry);
            if (entry->reported == members) return;
            entry->reported = members;
            entry->changed(members);
        });
    }
}

Members LocalMembership::view_of(const Entry& entry) const {
    const std::scoped_lock lock{mutex_};
    Members members;
    auto eldest = std::uint64_t{0};
    const auto group = groups_.find(entry.options.group);
    if (group == groups_.end()) return members;
    for (const auto& other : group->second) {
        if (!other->alive) continue;
        members.alive.push_back(other->options.self);
        if (eldest == 0 || other->joined < eldest) eldest = other->joined;
    }
    std::sort(members.alive.begin(), members.alive.end());
    members.first = entry.alive && entry.joined == eldest;
    return members;
}

}  // namespace beckon::log
