#include "retry/role/request_queue.hpp"

#include "retry/schedule/owner_budget.hpp"

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
    /// Requests queued and under way; bytes that are queued; bytes of replies that are not written.
    enum Of : std::size_t { requests, bytes, replies };
    using Budget = OwnerBudget<Queued, 3>;

    core::Executor& executor;
    const core::Clock& clock;
    std::mutex mutex;
    // Under the mutex.
    Budget budget;
    bool turn_posted = false;
    bool ended = false;

    bool may_put(const Budget::Owner& one, std::size_t more) const {
        return budget.has_share(one, requests) && budget.free(bytes) >= more &&
               (one.holds(bytes) == 0 || one.holds(bytes) + more <= budget.share(bytes));
    }
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
        of = budget.next([this](const auto& one) { return budget.has_share(one, replies); });
        if (!of) return;  // a request comes, or a reply is written
        next = std::move(of->works.front());
        of->works.pop_front();
        budget.give_back(*of, bytes, next.bytes);
        place = std::make_shared<Held>(shared_from_this(), of->name());
        budget.pay(*of, core::Duration::zero());
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
    budget.hold(budget.owner(name), replies, of_bytes);
}

void RequestQueue::State::left(const std::string& name, std::size_t reply_bytes) {
    const std::scoped_lock lock{mutex};
    auto& one = budget.owner(name);
    budget.give_back(one, requests, 1);
    budget.give_back(one, replies, reply_bytes);
    if (reply_bytes > 0) wake();
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
    auto& one = budget.owner(owner);
    if (!state_->may_put(one, bytes)) return false;
    budget.hold(one, State::requests, 1);
    budget.hold(one, State::bytes, bytes);
    budget.add(owner, {bytes, std::move(work)});
    state_->wake();
    return true;
}

}  // namespace beckon::retry
