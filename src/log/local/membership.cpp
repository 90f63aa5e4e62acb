#include "log/local/membership.hpp"

#include "log/local/door.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace beckon::log {

namespace {

/// How often a member looks for dead ones, in parts of its session time-out.
constexpr int kChecksPerSession = 4;

}  // namespace

struct LocalMembership::Seat {
    Seat(MemberOptions o, core::Executor& executor, std::function<void(const Members&)> c)
        : options(std::move(o)), door(std::make_shared<Door>(executor)), changed(std::move(c)) {}

    const MemberOptions options;
    const std::shared_ptr<Door> door;
    const std::function<void(const Members&)> changed;

    // Under the table's mutex.
    bool alive = false;
    std::uint64_t joined = 0;
    core::MonoTime heard{};

    // On the member's thread.
    std::optional<Members> told;
};

class LocalMembership::LocalMember final : public Member {
public:
    LocalMember(LocalMembership& table, std::shared_ptr<Seat> seat)
        : table_(table), seat_(std::move(seat)) {
        sit();
        arm();
    }
    ~LocalMember() override {
        seat_->door->shut();
        const std::scoped_lock lock{table_.mutex_};
        auto& seats = table_.groups_[seat_->options.group];
        std::erase(seats, seat_);
        seat_->alive = false;
        table_.announce(seats);
    }
    LocalMember(const LocalMember&) = delete;
    LocalMember& operator=(const LocalMember&) = delete;

    void still_alive() override {
        {
            const std::scoped_lock lock{table_.mutex_};
            seat_->heard = table_.clock_.mono();
            if (seat_->alive) return;
        }
        sit();
    }

private:
    void sit() {
        const std::scoped_lock lock{table_.mutex_};
        auto& seats = table_.groups_[seat_->options.group];
        if (std::find(seats.begin(), seats.end(), seat_) == seats.end()) seats.push_back(seat_);
        seat_->alive = true;
        seat_->joined = ++table_.joined_;
        seat_->heard = table_.clock_.mono();
        table_.announce(seats);
    }

    /// The member's own timer drives the search for dead ones: as long as anybody's thread turns,
    /// the others' deaths are noticed.
    void arm() {
        const auto pause = seat_->options.session_timeout / kChecksPerSession;
        seat_->door->post_after(pause, [this] {
            table_.check(seat_->options.group);
            arm();
        });
    }

    LocalMembership& table_;
    const std::shared_ptr<Seat> seat_;
};

std::unique_ptr<Member> LocalMembership::join(MemberOptions options, core::Executor& executor,
                                              std::function<void(const Members&)> changed) {
    auto seat = std::make_shared<Seat>(std::move(options), executor, std::move(changed));
    return std::make_unique<LocalMember>(*this, std::move(seat));
}

void LocalMembership::suspend(bool suspended) {
    const std::scoped_lock lock{mutex_};
    suspended_ = suspended;
    for (auto& [name, seats] : groups_) {
        for (const auto& seat : seats) seat->heard = clock_.mono();
    }
}

void LocalMembership::check(const std::string& group) {
    const std::scoped_lock lock{mutex_};
    if (suspended_) return;
    const auto now = clock_.mono();
    bool somebody_died = false;
    const auto& seats = groups_[group];
    for (const auto& seat : seats) {
        if (!seat->alive || now - seat->heard < seat->options.session_timeout) continue;
        seat->alive = false;
        somebody_died = true;
    }
    if (somebody_died) announce(seats);
}

/// Under the mutex. What each is told is looked up when its task runs, so that a burst of changes
/// ends in one call with the newest state.
void LocalMembership::announce(const std::vector<std::shared_ptr<Seat>>& seats) const {
    for (const auto& seat : seats) {
        seat->door->post([this, seat] {
            auto members = view_of(*seat);
            if (seat->told == members) return;
            seat->told = members;
            seat->changed(members);
        });
    }
}

Members LocalMembership::view_of(const Seat& seat) const {
    const std::scoped_lock lock{mutex_};
    Members members;
    auto eldest = std::uint64_t{0};
    const auto group = groups_.find(seat.options.group);
    if (group == groups_.end()) return members;
    for (const auto& other : group->second) {
        if (!other->alive) continue;
        members.alive.push_back(other->options.self);
        if (eldest == 0 || other->joined < eldest) eldest = other->joined;
    }
    std::sort(members.alive.begin(), members.alive.end());
    members.first = seat.alive && seat.joined == eldest;
    return members;
}

}  // namespace beckon::log
