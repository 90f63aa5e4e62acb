#include "retry/role/request_queue.hpp"

#include "retry/owner_budget.hpp"

#include <mutex>
#include <utility>

namespace beckon::retry {

namespace {

constexpr core::Duration kQuantum = std::chrono::milliseconds{5};
/// The cost of a request beside its measured time.
constexpr core::Duration kCostOfRequest = std::chrono::microseconds{20};
/// An owner's share of the free capacity: alone, an owner holds a third of all.
constexpr std::size_t kFraction = 1;

}  // namespace

/// Lives as long as the queue, its places and its tasks.
struct RequestQueue::State : std::enable_shared_from_this<RequestQueue::State> {
    State(core::Executor& e, const core::Clock& c, Limits limits)
        : executor(e),
          clock(c),
          budget(kQuantum, {{{limits.requests_max, kFraction},
                             {limits.bytes_max, kFraction},
                             {limits.reply_bytes_max, kFraction}}}) {}

    struct Queued {
        std::size_t bytes = 0;
        Work work;
    };
    /// Requests queued and under way; their bytes until they are answered; bytes of replies that
    /// are not written.
    enum Of : std::size_t { requests, bytes, replies };
    using Budget = OwnerBudget<Queued, 3>;

    core::Executor& executor;
    const core::Clock& clock;
    std::mutex mutex;
    // Under the mutex.
    Budget budget;
    bool turn_posted = false;
    bool ended = false;

    bool may_put(const std::string& owner, std::size_t more) const {
        const auto held = budget.holds(owner, bytes);
        return budget.has_share(owner, requests) && budget.free(bytes) >= more &&
               (held == 0 || held + more <= budget.share(bytes));
    }
    void wake();
    void turn();
};

/// Under the mutex.
void RequestQueue::State::wake() {
    if (ended || !budget.has_work() || turn_posted) return;
    executor.post([self = shared_from_this()] { self->turn(); });
    turn_posted = true;
}

/// Serves one request; the thread has its other turns before the next.
void RequestQueue::State::turn() {
    Queued next;
    PlacePtr place;
    Budget::Owner* of = nullptr;
    {
        const std::scoped_lock lock{mutex};
        turn_posted = false;
        if (ended) return;
        of = budget.next(replies);
        if (!of) return;  // a request comes, or a reply is written
        next = budget.take(*of, core::Duration::zero());
        place = std::make_shared<Place>(shared_from_this(), of->name, next.bytes);
        wake();
    }
    const auto began = clock.mono();
    next.work(place);
    const auto took = clock.mono() - began;
    const std::scoped_lock lock{mutex};
    of->credit -= kCostOfRequest + took;  // it is there: `place` counts for it
}

void RequestQueue::Place::replies(std::size_t bytes) {
    const std::scoped_lock lock{state_->mutex};
    state_->budget.give_back(owner_, State::bytes, std::exchange(bytes_, 0));
    state_->budget.hold(owner_, State::replies, bytes);
    reply_bytes_ = bytes;
}

RequestQueue::Place::~Place() {
    const std::scoped_lock lock{state_->mutex};
    state_->budget.give_back(owner_, State::requests, 1);
    state_->budget.give_back(owner_, State::bytes, bytes_);
    state_->budget.give_back(owner_, State::replies, reply_bytes_);
    if (reply_bytes_ > 0) state_->wake();
}

RequestQueue::RequestQueue(core::Executor& to, const core::Clock& clock, Limits limits)
    : state_(std::make_shared<State>(to, clock, limits)) {}

RequestQueue::~RequestQueue() {
    std::deque<State::Queued> queued;  // they end without the lock
    const std::scoped_lock lock{state_->mutex};
    state_->ended = true;
    queued = state_->budget.take_all();
}

bool RequestQueue::put(const std::string& owner, std::size_t bytes, Work work) {
    const std::scoped_lock lock{state_->mutex};
    auto& budget = state_->budget;
    if (!state_->may_put(owner, bytes)) return false;
    budget.hold(owner, State::requests, 1);
    budget.hold(owner, State::bytes, bytes);
    budget.add(owner, {bytes, std::move(work)});
    state_->wake();
    return true;
}

}  // namespace beckon::retry
