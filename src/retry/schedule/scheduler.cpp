#include "retry/schedule/scheduler.hpp"

#include "core/assert.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace beckon::retry {

using core::Duration;
using std::chrono::duration_cast;

namespace {

/// The noisy: so many in flight and so great a part of all, or so great a part of the time.
constexpr std::size_t kNoisyCount = 30;
constexpr double kNoisyPart = 0.1;
/// What a noisy webhook gets while others wait.
constexpr std::size_t kNoisyShare = 4;  // a quarter
/// What is kept for the quiet.
constexpr std::size_t kReserve = 10;  // a tenth
constexpr std::size_t kWindowShare = 8;
/// How much one attempt moves what is remembered of the last ones.
constexpr double kMoving = 0.2;
/// Times used are halved when they add up to this, so that the recent ones count.
constexpr double kSecondsRemembered = 60;

double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

struct Transparent {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
        return std::hash<std::string_view>{}(text);
    }
};
template <class T>
using ByName = std::unordered_map<std::string, T, Transparent, std::equal_to<>>;

}  // namespace

struct Scheduler::Impl {
    explicit Impl(Options o) : options(o), random(o.seed), tiers(o.tiers) {}

    /// One webhook's jobs of one tier.
    struct Queue {
        std::deque<Job> jobs;
        Duration deficit{};
        bool in_ring = false;
    };
    struct Webhook {
        std::string name;
        std::map<int, Queue> queues;  ///< by tier
        std::size_t waiting = 0;
        std::size_t in_flight = 0;
        double cap = kCapAtFirst;  ///< moves with what the receiver bears
        std::size_t cap_max = 64;
        Duration cost = kCostLeast;  ///< what an attempt takes, moving average
        double used_s = 0;           ///< of the workers' time, lately
    };
    struct Host {
        std::size_t in_flight = 0;
        std::set<Webhook*> blocked;  ///< wait until one of its attempts has ended
    };
    struct Tier {
        std::deque<Webhook*> ring;  ///< whose queue may start something, in turn
        std::size_t waiting = 0;
        std::size_t in_flight = 0;
    };

    const Options options;
    std::mt19937_64 random;
    std::vector<Tier> tiers;
    ByName<std::unique_ptr<Webhook>> webhooks;
    ByName<Host> hosts;
    std::size_t waiting = 0;
    std::size_t in_flight = 0;
    double used_s = 0;

    Tier& tier_at(int tier) {
        BECKON_ASSERT(tier >= 0 && static_cast<std::size_t>(tier) < tiers.size(), "a known tier");
        return tiers[static_cast<std::size_t>(tier)];
    }
    Webhook& webhook(std::string_view name);
    Webhook* find(std::string_view name) const {
        const auto found = webhooks.find(name);
        return found == webhooks.end() ? nullptr : found->second.get();
    }
    std::size_t cap(const Webhook& w) const {
        return std::max<std::size_t>(
            1, std::min(static_cast<std::size_t>(w.cap), std::min(w.cap_max, kHostCap)));
    }
    bool noisy(const Webhook& w) const;
    void enter_ring(int tier, Webhook& w, Queue& queue);
    void enter_rings(Webhook& w);

    std::vector<int> order_of_tiers();
    std::optional<Job> next_of(int tier);
    bool may_start(const Webhook& w, const Job& job, bool others_wait);
    Job start(int tier, Webhook& w, Queue& queue);
    void forget_if_idle(std::string_view name);
};

Scheduler::Impl::Webhook& Scheduler::Impl::webhook(std::string_view name) {
    auto& slot = webhooks[std::string{name}];
    if (!slot) {
        slot = std::make_unique<Webhook>();
        slot->name = name;
    }
    return *slot;
}

bool Scheduler::Impl::noisy(const Webhook& w) const {
    const auto part = [](double mine, double all) { return all > 0 && mine > kNoisyPart * all; };
    const bool by_count = w.in_flight >= kNoisyCount &&
                          part(static_cast<double>(w.in_flight), static_cast<double>(in_flight));
    const bool by_time = used_s > 1 && part(w.used_s, used_s);
    return by_count || by_time;
}

void Scheduler::Impl::enter_ring(int tier, Webhook& w, Queue& queue) {
    if (queue.in_ring || queue.jobs.empty() || w.in_flight >= cap(w)) return;
    queue.in_ring = true;
    tier_at(tier).ring.push_back(&w);
}

void Scheduler::Impl::enter_rings(Webhook& w) {
    for (auto& [tier, queue] : w.queues) enter_ring(tier, w, queue);
}

/// The tiers in which somebody waits, in the order in which they are to be asked.
std::vector<int> Scheduler::Impl::order_of_tiers() {
    std::vector<int> order;
    std::vector<std::pair<int, std::size_t>> weighted;
    for (std::size_t i = 0; i < tiers.size(); ++i) {
        if (tiers[i].ring.empty() || tiers[i].waiting == 0) continue;
        const int tier = static_cast<int>(i);
        if (options.workers >= tiers.size() && tiers[i].in_flight == 0) {
            order.push_back(tier);  // each tier has one
        } else {
            weighted.emplace_back(tier, tiers[i].waiting);
        }
    }
    while (!weighted.empty()) {
        std::size_t sum = 0;
        for (const auto& [tier, weight] : weighted) sum += weight;
        auto drawn = random() % sum;
        const auto chosen = std::find_if(weighted.begin(), weighted.end(), [&](const auto& w) {
            if (drawn < w.second) return true;
            drawn -= w.second;
            return false;
        });
        order.push_back(chosen->first);
        weighted.erase(chosen);
    }
    return order;
}

bool Scheduler::Impl::may_start(const Webhook& w, const Job& job, bool others_wait) {
    const auto free = options.workers - in_flight;
    const bool loud = noisy(w);
    const bool quiet = !loud && (w.in_flight == 0 || job.due.ticket.tier == 0);
    if (!quiet && free <= options.workers / kReserve) return false;
    return !(loud && others_wait &&
             w.in_flight >= std::max<std::size_t>(1, options.workers / kNoisyShare));
}

Job Scheduler::Impl::start(int tier, Webhook& w, Queue& queue) {
    auto job = std::move(queue.jobs.front());
    queue.jobs.pop_front();
    queue.deficit -= w.cost;
    auto& of_tier = tier_at(tier);
    --of_tier.waiting;
    ++of_tier.in_flight;
    --w.waiting;
    ++w.in_flight;
    --waiting;
    ++in_flight;
    ++hosts[job.host].in_flight;
    return job;
}

/// Deficit round robin over the tier's ring.
std::optional<Job> Scheduler::Impl::next_of(int tier) {
    auto& ring = tier_at(tier).ring;
    std::size_t refused = 0;  // in a row, and for a reason that this call cannot change
    while (refused < ring.size()) {
        auto& w = *ring.front();
        auto& queue = w.queues[tier];
        const auto leave = [&] {
            ring.pop_front();
            queue.in_ring = false;
        };
        if (queue.jobs.empty() || w.in_flight >= cap(w)) {
            if (queue.jobs.empty()) queue.deficit = {};
            leave();
            continue;
        }
        auto& host = hosts[queue.jobs.front().host];
        if (host.in_flight >= kHostCap) {
            host.blocked.insert(&w);
            leave();
            continue;
        }
        if (!may_start(w, queue.jobs.front(), ring.size() > 1)) {
            ring.pop_front();
            ring.push_back(&w);
            ++refused;
            continue;
        }
        refused = 0;
        if (queue.deficit < w.cost) {
            queue.deficit += kQuantum;
            ring.pop_front();
            ring.push_back(&w);
            continue;
        }
        return start(tier, w, queue);
    }
    return std::nullopt;
}

/// What is known of a webhook that does nothing is its cap and cost: cheap to learn again.
void Scheduler::Impl::forget_if_idle(std::string_view name) {
    constexpr std::size_t kRememberedMax = 10'000;
    const auto* w = find(name);
    if (!w || w->waiting > 0 || w->in_flight > 0 || webhooks.size() <= kRememberedMax) return;
    for (const auto& [tier, queue] : w->queues) {
        if (queue.in_ring) return;  // leaves the ring at its next turn
    }
    for (auto& [host, state] : hosts) state.blocked.erase(webhooks.find(name)->second.get());
    webhooks.erase(webhooks.find(name));
}

Scheduler::Scheduler(Options options) : impl_(std::make_unique<Impl>(options)) {}
Scheduler::~Scheduler() = default;

std::optional<Duration> Scheduler::add(Job& job) {
    auto& w = impl_->webhook(job.due.delivery.webhook);
    w.cap_max = job.cap_max;
    if (w.waiting >= impl_->options.queued_max / kWindowShare) {
        return w.cost * static_cast<Duration::rep>(w.waiting) /
               static_cast<Duration::rep>(impl_->cap(w));
    }
    const int tier = job.due.ticket.tier;
    auto& queue = w.queues[tier];
    queue.jobs.push_back(std::move(job));
    ++impl_->tier_at(tier).waiting;
    ++w.waiting;
    ++impl_->waiting;
    impl_->enter_ring(tier, w, queue);
    return std::nullopt;
}

std::optional<Job> Scheduler::next() {
    if (impl_->in_flight >= impl_->options.workers) return std::nullopt;
    for (const int tier : impl_->order_of_tiers()) {
        if (auto job = impl_->next_of(tier)) return job;
    }
    return std::nullopt;
}

void Scheduler::ended(const Ended& attempt) {
    auto* w = impl_->find(attempt.webhook);
    BECKON_ASSERT(w && w->in_flight > 0, "an attempt that was started ends once");
    --w->in_flight;
    --impl_->in_flight;
    --impl_->tier_at(attempt.tier).in_flight;
    const auto took = std::clamp(attempt.took, kCostLeast, impl_->options.timeout);
    w->queues[attempt.tier].deficit += w->cost - took;  // what was only estimated is put right
    w->cost = std::clamp(duration_cast<Duration>((1 - kMoving) * w->cost + kMoving * took),
                         kCostLeast, impl_->options.timeout);
    w->used_s += seconds(took);
    impl_->used_s += seconds(took);
    if (impl_->used_s > kSecondsRemembered) {
        impl_->used_s /= 2;
        for (auto& [name, one] : impl_->webhooks) one->used_s /= 2;
    }
    // More by one each time that all have gone well, half when the receiver has had enough.
    w->cap = attempt.overloaded ? std::max(1.0, w->cap / 2) : std::min(64.0, w->cap + 1 / w->cap);

    auto& host = impl_->hosts[std::string{attempt.host}];
    --host.in_flight;
    for (auto* blocked : std::exchange(host.blocked, {})) impl_->enter_rings(*blocked);
    if (host.in_flight == 0 && host.blocked.empty()) impl_->hosts.erase(std::string{attempt.host});
    impl_->enter_rings(*w);
    impl_->forget_if_idle(attempt.webhook);
}

std::size_t Scheduler::forget(core::Partition partition) {
    std::size_t forgotten = 0;
    for (auto& [name, w] : impl_->webhooks) {
        for (auto& [tier, queue] : w->queues) {
            const auto count = std::erase_if(
                queue.jobs, [&](const Job& job) { return job.due.ticket.partition == partition; });
            impl_->tier_at(tier).waiting -= count;
            w->waiting -= count;
            forgotten += count;
        }
    }
    impl_->waiting -= forgotten;
    return forgotten;
}

std::size_t Scheduler::in_flight() const { return impl_->in_flight; }
std::size_t Scheduler::waiting() const { return impl_->waiting; }
std::size_t Scheduler::waiting(int tier) const { return impl_->tier_at(tier).waiting; }

std::size_t Scheduler::in_flight(std::string_view webhook) const {
    const auto* w = impl_->find(webhook);
    return w ? w->in_flight : 0;
}

bool Scheduler::noisy(std::string_view webhook) const {
    const auto* w = impl_->find(webhook);
    return w && impl_->noisy(*w);
}

}  // namespace beckon::retry
