#include "retry/role/request_queue.hpp"

#include "retry/schedule/fair_share.hpp"
#include "retry/schedule/round_robin.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace beckon::retry {

namespace {

constexpr core::Duration kQuantum = std::chrono::milliseconds{5};
/// The cost of a request beside its measured time.
constexpr core::Duration kCostOfRequest = std::chrono::microseconds{20};
/// An owner's share of the free capacity: alone, an owner holds a third of all.
constexpr std::size_t kFraction = 1;
constexpr std::size_t kOwnersMax = 1'024;  ///< that are remembered although they have nothing

}  // namespace

/// Lives as long as the queue, its places and its tasks.
struct RequestQueue::State : std::enable_shared_from_this<RequestQueue::State> {
    State(core::Executor& e, const core::Clock& c, Limits limits)
        : executor(e),
          clock(c),
          requests(limits.requests_max),
          bytes(limits.bytes_max),
          replies(limits.reply_bytes_max) {}

    struct Queued {
        std::size_t bytes = 0;
        Work work;
    };
    struct Owner : RoundRobinPlace {
        Owner() : RoundRobinPlace{.credit = kQuantum} {}
        std::string name;
        std::deque<Queued> queue;
        std::size_t requests = 0;  ///< queued and under way
        std::size_t bytes = 0;     ///< queued
        std::size_t replies = 0;   ///< bytes that are not written
    };

    core::Executor& executor;
    const core::Clock& clock;
    std::mutex mutex;
    // Under the mutex.
    FairShare requests;
    FairShare bytes;
    FairShare replies;
    std::map<std::string, Owner> owners;
    std::size_t sweep_at = kOwnersMax;
    RoundRobin<Owner> line{kQuantum};
    bool turn_posted = false;
    bool ended = false;

    Owner& owner(const std::string& name);
    bool may_put(const Owner& one, std::size_t more) const;
    void wake();
    void turn();
    void replied(const std::string& name, std::size_t of_bytes);
    void left(const std::string& name, std::size_t reply_bytes);
};

struct RequestQueue::Held final : Place {
    Held(std::shared_ptr<State> s, std::string o) : state(std::move(s)), owner(std::move(o)) {}
    ~Held() override { state->left(owner, reply_bytes); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    void replies(std::size_t bytes) override {
        reply_bytes = bytes;
        state->replied(owner, bytes);
    }
    const std::shared_ptr<State> state;
    const std::string owner;
    std::size_t reply_bytes = 0;
};

RequestQueue::State::Owner& RequestQueue::State::owner(const std::string& name) {
    auto& found = owners[name];
    found.name = name;
    if (owners.size() < sweep_at) return found;
    std::erase_if(owners, [&](const auto& one) {
        return &one.second != &found && !one.second.in_line && one.second.requests == 0;
    });
    sweep_at = std::max(kOwnersMax, 2 * owners.size());
    return found;
}

bool RequestQueue::State::may_put(const Owner& one, std::size_t more) const {
    return one.requests < requests.share(kFraction) && bytes.free() >= more &&
           (one.bytes == 0 || one.bytes + more <= bytes.share(kFraction));
}

/// Under the mutex.
void RequestQueue::State::wake() {
    if (ended || line.empty() || turn_posted) return;
    executor.post([self = shared_from_this()] { self->turn(); });
    turn_posted = true;
}

/// Serves one request; the thread has its other turns before the next.
void RequestQueue::State::turn() {
    const auto ask = [this](const Owner& one) {
        using Turn = RoundRobin<Owner>::Turn;
        if (one.queue.empty()) return Turn::leave;
        return one.replies < replies.share(kFraction) ? Turn::take : Turn::wait;
    };
    Queued next;
    PlacePtr place;
    Owner* of = nullptr;
    {
        const std::scoped_lock lock{mutex};
        turn_posted = false;
        if (ended) return;
        of = line.next(ask);
        if (!of) return;  // a request comes, or a reply is written
        next = std::move(of->queue.front());
        of->queue.pop_front();
        bytes.give_back(next.bytes);
        of->bytes -= next.bytes;
        place = std::make_shared<Held>(shared_from_this(), of->name);
        if (of->queue.empty()) line.rest(*of);
        wake();
    }
    const auto began = clock.mono();
    next.work(place);
    const auto took = clock.mono() - began;
    const std::scoped_lock lock{mutex};
    of->credit -= kCostOfRequest + took;  // it is there: `place` counts for it
}

void RequestQueue::State::replied(const std::string& name, std::size_t of_bytes) {
    const std::scoped_lock lock{mutex};
    owner(name).replies += of_bytes;
    replies.take(of_bytes);
}

void RequestQueue::State::left(const std::string& name, std::size_t reply_bytes) {
    const std::scoped_lock lock{mutex};
    auto& one = owner(name);
    --one.requests;
    one.replies -= reply_bytes;
    requests.give_back(1);
    replies.give_back(reply_bytes);
    if (reply_bytes > 0) wake();
}

RequestQueue::RequestQueue(core::Executor& to, const core::Clock& clock, Limits limits)
    : state_(std::make_shared<State>(to, clock, limits)) {}

RequestQueue::~RequestQueue() {
    std::map<std::string, State::Owner> owners;  // their requests end without the lock
    const std::scoped_lock lock{state_->mutex};
    state_->ended = true;
    for (auto& [name, one] : state_->owners) owners[name].queue.swap(one.queue);
}

bool RequestQueue::put(const std::string& owner, std::size_t bytes, Work work) {
    const std::scoped_lock lock{state_->mutex};
    auto& one = state_->owner(owner);
    if (!state_->may_put(one, bytes)) return false;
    ++one.requests;
    one.bytes += bytes;
    state_->requests.take(1);
    state_->bytes.take(bytes);
    one.queue.push_back({bytes, std::move(work)});
    state_->line.enter(one);
    state_->wake();
    return true;
}

std::size_t RequestQueue::owners() const {
    const std::scoped_lock lock{state_->mutex};
    return state_->owners.size();
}

}  // namespace beckon::retry
