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
    void replied(const Held& one);
    void left(const Held& one);
};

struct RequestQueue::Held final : Place {
    Held(std::shared_ptr<State> s, std::string o, std::size_t b)
        : state(std::move(s)), owner(std::move(o)), bytes(b) {}
    ~Held() override { state->left(*this); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    void replies(std::size_t of_bytes) override {
        reply_bytes = of_bytes;
        state->replied(*this);
        bytes = 0;
    }
    const std::shared_ptr<State> state;
    const std::string owner;
    std::size_t bytes = 0;  ///< of the request, while it is not answered
    std::size_t reply_bytes = 0;
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
        place = std::make_shared<Held>(shared_from_this(), of->name, next.bytes);
        wake();
    }
    const auto began = clock.mono();
    next.work(place);
    const auto took = clock.mono() - began;
    const std::scoped_lock lock{mutex};
    of->credit -= kCostOfRequest + took;  // it is there: `place` counts for it
}

void RequestQueue::State::replied(const Held& one) {
    const std::scoped_lock lock{mutex};
    budget.give_back(one.owner, bytes, one.bytes);
    budget.hold(one.owner, replies, one.reply_bytes);
}

void RequestQueue::State::left(const Held& one) {
    const std::scoped_lock lock{mutex};
    budget.give_back(one.owner, requests, 1);
    budget.give_back(one.owner, bytes, one.bytes);
    budget.give_back(one.owner, replies, one.reply_bytes);
    if (one.reply_bytes > 0) wake();
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
