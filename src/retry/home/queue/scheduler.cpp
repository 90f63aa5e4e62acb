#include "retry/home/queue/scheduler.hpp"

#include "core/assert.hpp"
#include "retry/owner_budget.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace beckon::retry {

using core::Duration;
using core::MonoTime;
using std::chrono::duration_cast;

namespace {

/// The share of one owner, of places and of a window: for slow receivers, for slow and unknown ones
/// together, and in all. Indexed by Lane.
constexpr std::array<std::size_t, 3> kOwnerFraction{8, 4, 2};
/// The same, with what quick receivers hold that turned slow meanwhile.
constexpr std::size_t kOwnerFractionOfAll = 1;
constexpr std::size_t kWebhookFraction = 8;  ///< of a window
constexpr std::size_t kBytesFraction = 2;    ///< of the bytes of events, for each owner
constexpr std::size_t kHostFraction = 2;     ///< of a host's places, for each owner
constexpr std::size_t kHostCapPart = 4;      ///< a host's places, of all
/// How much one attempt moves the average of the last ones.
constexpr double kMoving = 0.2;
constexpr double kCapHighest = 64;
/// Webhooks that are checked for the first place of a tier.
constexpr std::size_t kTierTries = 16;

/// The state of a receiver, which decides the share to which its attempts count. No receiver is in
/// `beyond_share`: attempts count there that began beyond the owner's share, since their tier had
/// no place. They hold up nobody: the owner's quick receivers least of all.
enum Lane : std::size_t { slow, unknown, quick, beyond_share };

template <class T>
using ByName = std::map<std::string, T, std::less<>>;

/// Whether an owner that holds this much, by lane, may take more for a receiver of `lane`. A lane's
/// share is part of the next lane's, so it must fit into all of them. Only receivers that were
/// quick when they took it, and turned slow, hold more than the share of slow ones; beyond that
/// share it does not count against the owner's quick receivers, up to a bound of its own.
bool fits(const FairShare& whole, const std::array<std::size_t, 3>& held, Lane lane) {
    const auto slow_share = whole.share(kOwnerFraction[slow]);
    const auto tried = held[slow] + held[unknown];
    if (lane == slow && held[slow] >= slow_share) return false;
    if (lane <= unknown && tried >= whole.share(kOwnerFraction[unknown])) return false;
    if (tried + held[quick] >= whole.share(kOwnerFractionOfAll)) return false;
    return std::min(held[slow], slow_share) + held[unknown] + held[quick] <
           whole.share(kOwnerFraction[quick]);
}

Duration cost_of(Duration took, std::size_t bytes) {
    return std::clamp(took, Scheduler::kCostLeast, Scheduler::kCostMost) +
           Scheduler::kCostOfKib * static_cast<Duration::rep>(bytes / 1'024);
}

}  // namespace

struct Scheduler::Impl {
    explicit Impl(Options o)
        : options(o),
          places(o.workers),
          event_bytes(o.event_bytes),
          tiers(o.tiers),
          host_cap(std::max(kHostCapLeast, o.workers / kHostCapPart)) {}

    struct Owner;
    struct Webhook : RoundRobinPlace {
        std::string name;
        Owner* owner = nullptr;
        core::Partition partition = 0;          ///< of all its deliveries
        std::map<int, std::deque<Job>> queues;  ///< by tier; none is empty
        int last_tier = -1;                     ///< that had its turn
        std::size_t waiting = 0;
        std::size_t in_flight = 0;
        std::size_t late = 0;  ///< of those: under way for longer than kQuick
        std::size_t window() const { return waiting + in_flight; }
        Lane lane = unknown;
        double cap = kCapAtFirst;  ///< follows the receiver's capacity
        std::size_t cap_max = 64;
        Duration cost = kCostLeast;                             ///< of an attempt, moving average
        std::map<int, std::list<Webhook*>::iterator> in_tiers;  ///< its places in their lines
        bool blocked = false;                                   ///< waits at a host
        bool bridged = false;
    };
    using ByLane = std::array<std::size_t, 3>;
    /// An owner's webhooks of one lane.
    struct LaneLine : RoundRobinPlace {
        explicit LaneLine(Lane of) : lane(of) {}
        Lane lane;
        RoundRobin<Webhook> webhooks{kQuantum};
    };
    struct Owner : RoundRobinPlace {
        std::string name;
        std::array<LaneLine, 3> lanes{LaneLine{slow}, LaneLine{unknown}, LaneLine{quick}};
        RoundRobin<LaneLine> line{kQuantum};
        std::array<std::size_t, 4> in_flight{};  ///< by lane
        std::size_t event_bytes = 0;             ///< in flight
        std::size_t waiting = 0;
        std::map<core::Partition, ByLane> windows;
        std::size_t webhooks = 0;  ///< that point to it
        std::size_t under_way() const {
            return in_flight[slow] + in_flight[unknown] + in_flight[quick] +
                   in_flight[beyond_share];
        }
    };
    struct Host {
        std::size_t in_flight = 0;
        std::unordered_map<Owner*, std::size_t> held;
        /// Webhooks that wait until an attempt at the host has ended.
        std::unordered_map<Owner*, std::deque<Webhook*>> blocked;
    };
    struct Tier {
        std::list<Webhook*> line;  ///< that have something here
        std::size_t waiting = 0;
        std::size_t in_flight = 0;
    };
    struct Flight {
        Webhook* webhook;
        std::string host;
        int tier;
        Lane lane;     ///< that it counts to
        Lane started;  ///< the lane that has paid for it
        bool late;
        std::size_t bytes;
        Duration charged;
    };

    const Options options;
    FairShare places;
    FairShare event_bytes;
    std::vector<Tier> tiers;
    const std::size_t host_cap;
    ByName<Owner> owners;
    ByName<Webhook> webhooks;
    ByName<Host> hosts;
    std::map<core::Partition, FairShare> windows;
    RoundRobin<Owner> line{kQuantum};
    std::unordered_map<std::uint64_t, Flight> flights;
    std::deque<std::pair<MonoTime, std::uint64_t>> started;  ///< in that order
    std::uint64_t next_attempt = 1;
    std::size_t waiting = 0;

    using WebhookTurn = RoundRobin<Webhook>::Turn;
    using LaneTurn = RoundRobin<LaneLine>::Turn;
    using OwnerTurn = RoundRobin<Owner>::Turn;

    Tier& tier_at(int tier) {
        BECKON_ASSERT(tier >= 0 && static_cast<std::size_t>(tier) < tiers.size(), "a known tier");
        return tiers[static_cast<std::size_t>(tier)];
    }
    /// nullptr: it has nothing here.
    const Owner* find_owner(std::string_view name) const {
        const auto found = owners.find(name);
        return found == owners.end() ? nullptr : &found->second;
    }
    static std::size_t cap(const Webhook& w) {
        return std::max<std::size_t>(1, std::min(static_cast<std::size_t>(w.cap), w.cap_max));
    }

    Owner& owner(const std::string& name) {
        auto& one = owners[name];
        one.name = name;
        return one;
    }

    Webhook& webhook_of(const Job& job) {
        const auto [at, is_new] = webhooks.try_emplace(job.due.delivery.webhook);
        auto& w = at->second;
        if (!is_new) return w;
        w.name = at->first;
        w.owner = &owner(job.owner);
        ++w.owner->webhooks;
        w.partition = job.due.ticket.partition;
        w.bridged = job.bridged;
        if (job.failing) w.lane = slow;
        return w;
    }

    FairShare& window(core::Partition partition) {
        return windows.try_emplace(partition, options.queued_max).first->second;
    }

    /// An owner that holds nothing of the window may always add a delivery.
    bool has_capacity(const Webhook& w) {
        const auto& of = window(w.partition);
        const auto found = w.owner->windows.find(w.partition);
        if (found == w.owner->windows.end()) return true;
        return w.window() < of.share(kWebhookFraction) && fits(of, found->second, w.lane);
    }

    void hold(Webhook& w) {
        window(w.partition).take(1);
        ++w.owner->windows[w.partition][w.lane];
    }

    void release(Webhook& w, std::size_t count = 1) {
        window(w.partition).give_back(count);
        const auto held = w.owner->windows.find(w.partition);
        held->second[w.lane] -= count;
        if (held->second == ByLane{}) w.owner->windows.erase(held);
    }

    /// The webhook's part of the window moves along; attempts in flight count in the lane in which
    /// they started, until note_late() moves them.
    void move_to(Webhook& w, Lane lane) {
        if (w.lane == lane) return;
        w.owner->lanes[w.lane].webhooks.leave(w);
        const auto held = w.owner->windows.find(w.partition);
        if (held != w.owner->windows.end()) {
            held->second[w.lane] -= w.window();
            held->second[lane] += w.window();
        }
        w.lane = lane;
        enter(w);
    }

    void enter(Webhook& w) {
        if (w.waiting == 0 || w.in_flight >= cap(w) || w.blocked) return;
        auto& lane = w.owner->lanes[w.lane];
        lane.webhooks.enter(w);
        w.owner->line.enter(lane);
        line.enter(*w.owner);
    }

    static void pay(Webhook& w, Lane lane, Duration cost) {
        w.credit -= cost;
        w.owner->lanes[lane].credit -= cost;
        w.owner->credit -= cost;
    }

    /// An attempt that takes long counts as slow while it is under way, and its receiver with it.
    void note_late(MonoTime now) {
        while (!started.empty() && now - started.front().first >= kQuick) {
            const auto found = flights.find(started.front().second);
            started.pop_front();
            if (found == flights.end()) continue;
            auto& flight = found->second;
            flight.late = true;
            if (flight.lane != beyond_share) {
                auto& owner = *flight.webhook->owner;
                --owner.in_flight[flight.lane];
                ++owner.in_flight[slow];
                flight.lane = slow;
            }
            ++flight.webhook->late;
            move_to(*flight.webhook, slow);
        }
    }

    bool may_start(const Owner& o, Lane lane) const {
        return o.event_bytes < event_bytes.share(kBytesFraction) &&
               fits(places, {o.in_flight[slow], o.in_flight[unknown], o.in_flight[quick]}, lane);
    }

    OwnerTurn turn_of(const Owner& o) const {
        bool waits = false;
        for (const auto& lane : o.lanes) {
            const auto turn = turn_of(o, lane);
            if (turn == LaneTurn::take) return OwnerTurn::take;
            waits |= turn == LaneTurn::wait;
        }
        return waits ? OwnerTurn::wait : OwnerTurn::leave;
    }

    LaneTurn turn_of(const Owner& o, const LaneLine& lane) const {
        if (lane.webhooks.empty()) return LaneTurn::leave;
        return may_start(o, lane.lane) ? LaneTurn::take : LaneTurn::wait;
    }

    WebhookTurn turn_of(Webhook& w) {
        if (w.waiting == 0 || w.in_flight >= cap(w)) return WebhookTurn::leave;
        return host_takes(w) ? WebhookTurn::take : WebhookTurn::leave;
    }

    /// True if the host of the next delivery has a place for this owner; if not, the webhook waits
    /// there.
    bool host_takes(Webhook& w) {
        if (w.bridged) return true;
        const auto found = hosts.find(w.queues.at(next_tier(w)).front().host);
        if (found == hosts.end()) return true;
        auto& host = found->second;
        const auto held = host.held.find(w.owner);
        const auto share = FairShare{host_cap, host.in_flight}.share(kHostFraction);
        if ((held == host.held.end() ? 0 : held->second) < share) return true;
        w.blocked = true;
        host.blocked[w.owner].push_back(&w);
        return false;
    }

    /// Each tier in turn: new work delays no retries, nor they it.
    static int next_tier(Webhook& w) {
        const auto next = w.queues.upper_bound(w.last_tier);
        return next == w.queues.end() ? w.queues.begin()->first : next->first;
    }

    /// A place for each tier that has none, even if its owner holds its share.
    std::optional<Job> first_of_tier(MonoTime now) {
        if (options.workers < tiers.size()) return std::nullopt;
        for (std::size_t i = 0; i < tiers.size(); ++i) {
            auto& tier = tiers[i];
            if (tier.in_flight > 0 || tier.waiting == 0) continue;
            const auto number = static_cast<int>(i);
            for (auto tries = std::min(tier.line.size(), kTierTries); tries > 0; --tries) {
                auto& w = *tier.line.front();
                tier.line.splice(tier.line.end(), tier.line, tier.line.begin());
                const auto host = hosts.find(w.queues.at(number).front().host);
                const bool full =
                    !w.bridged && host != hosts.end() && host->second.in_flight >= host_cap;
                if (w.in_flight >= cap(w) || full) continue;
                return start(w, number, may_start(*w.owner, w.lane) ? w.lane : beyond_share, now);
            }
        }
        return std::nullopt;
    }

    /// Its last delivery of that tier has left the queue.
    void leave_tier(Webhook& w, int tier) {
        w.queues.erase(tier);
        const auto place = w.in_tiers.extract(tier);
        tier_at(tier).line.erase(place.mapped());
    }

    Webhook* next_of(Owner& o) {
        while (auto* lane = o.line.next([&](const auto& one) { return turn_of(o, one); })) {
            if (auto* w = lane->webhooks.next([&](auto& one) { return turn_of(one); })) return w;
        }
        return nullptr;
    }

    /// The attempt counts to `lane`.
    Job start(Webhook& w, int tier, Lane lane, MonoTime now) {
        auto& queue = w.queues.at(tier);
        auto job = std::move(queue.front());
        queue.pop_front();
        if (queue.empty()) leave_tier(w, tier);
        w.last_tier = tier;
        auto& of_tier = tier_at(tier);
        --of_tier.waiting;
        ++of_tier.in_flight;
        --w.waiting;
        --w.owner->waiting;
        --waiting;
        ++w.in_flight;
        ++w.owner->in_flight[lane];
        places.take(1);
        auto& host = hosts[job.host];
        ++host.in_flight;
        ++host.held[w.owner];
        const auto bytes = job.due.delivery.event_bytes();
        w.owner->event_bytes += bytes;
        event_bytes.take(bytes);
        const auto charged = cost_of(w.cost, bytes);
        pay(w, w.lane, charged);
        job.attempt = next_attempt++;
        flights.emplace(job.attempt,
                        Flight{&w, job.host, tier, lane, w.lane, false, bytes, charged});
        started.emplace_back(now, job.attempt);
        return job;
    }

    /// The next webhook of each owner that waits for the host; all of them, when no attempt is left
    /// that would wake them.
    void wake(const std::string& host_name, Host& host) {
        for (auto one = host.blocked.begin(); one != host.blocked.end();) {
            auto& blocked = one->second;
            while (!blocked.empty()) {
                auto& w = *blocked.front();
                blocked.pop_front();
                w.blocked = false;
                enter(w);
                if (w.in_line && host.in_flight > 0) break;
            }
            one = blocked.empty() ? host.blocked.erase(one) : std::next(one);
        }
        if (host.in_flight == 0 && host.blocked.empty()) hosts.erase(host_name);
    }

    void end_at_host(const Flight& flight) {
        auto& host = hosts[flight.host];
        --host.in_flight;
        const auto held = host.held.find(flight.webhook->owner);
        if (--held->second == 0) host.held.erase(held);
        wake(flight.host, host);
    }

    /// Forgets an idle webhook's cap, cost and lane, which are cheap to learn again.
    void forget_if_idle(Webhook& w) {
        auto& o = *w.owner;
        // An owner without work has paid for the time that its attempts took.
        if (o.under_way() == 0 && o.waiting == 0) o.credit = std::max(o.credit, Duration::zero());
        if (w.in_flight == 0 && w.waiting == 0) w.credit = std::max(w.credit, Duration::zero());
        if (w.waiting + w.in_flight > 0 || w.blocked) return;
        if (w.bridged) o.lanes[w.lane].webhooks.leave(w);
        if (w.in_line || (webhooks.size() <= kIdleMax && !w.bridged)) return;
        if (--o.webhooks == 0 && !o.in_line) owners.erase(owners.find(o.name));
        webhooks.erase(webhooks.find(w.name));
    }
};

Scheduler::Scheduler(Options options) : impl_(std::make_unique<Impl>(options)) {}
Scheduler::~Scheduler() = default;

std::optional<Duration> Scheduler::add(Job& job) {
    auto& w = impl_->webhook_of(job);
    w.cap_max = job.cap_max;
    if (!impl_->has_capacity(w)) {
        const auto wait = w.cost * static_cast<Duration::rep>(w.waiting) /
                          static_cast<Duration::rep>(Impl::cap(w));
        if (w.bridged) impl_->forget_if_idle(w);
        return wait;
    }
    const int tier = job.due.ticket.tier;
    impl_->hold(w);
    auto& line = impl_->tier_at(tier).line;
    if (!w.in_tiers.contains(tier)) w.in_tiers.emplace(tier, line.insert(line.end(), &w));
    w.queues[tier].push_back(std::move(job));
    ++impl_->tier_at(tier).waiting;
    ++w.waiting;
    ++w.owner->waiting;
    ++impl_->waiting;
    impl_->enter(w);
    return std::nullopt;
}

std::optional<Job> Scheduler::next(MonoTime now) {
    impl_->note_late(now);
    if (impl_->places.free() == 0 || impl_->waiting == 0) return std::nullopt;
    if (auto job = impl_->first_of_tier(now)) return job;
    while (auto* owner = impl_->line.next([&](const auto& o) { return impl_->turn_of(o); })) {
        auto* w = impl_->next_of(*owner);
        if (!w) continue;
        auto& lane = owner->lanes[w->lane];
        auto job = impl_->start(*w, Impl::next_tier(*w), w->lane, now);
        if (w->waiting == 0 || w->in_flight >= Impl::cap(*w)) lane.webhooks.rest(*w);
        if (lane.webhooks.empty()) owner->line.rest(lane);
        if (owner->line.empty()) impl_->line.rest(*owner);
        return job;
    }
    return std::nullopt;
}

void Scheduler::charge(std::uint64_t attempt, Duration processor) {
    const auto found = impl_->flights.find(attempt);
    if (found == impl_->flights.end()) return;
    const auto& flight = found->second;
    const auto cost = processor * static_cast<Duration::rep>(impl_->options.workers);
    Impl::pay(*flight.webhook, flight.started, std::min(cost, kCostMost));
}

void Scheduler::ended(const Ended& attempt) {
    const auto node = impl_->flights.extract(attempt.attempt);
    BECKON_ASSERT(!node.empty(), "an attempt that was started ends once");
    const auto& flight = node.mapped();
    auto& w = *flight.webhook;
    --w.in_flight;
    --w.owner->in_flight[flight.lane];
    if (flight.late) --w.late;
    impl_->places.give_back(1);
    --impl_->tier_at(flight.tier).in_flight;
    impl_->release(w);
    w.owner->event_bytes -= flight.bytes;
    impl_->event_bytes.give_back(flight.bytes);
    // Corrects the estimated cost.
    const auto cost = attempt.attempted ? cost_of(attempt.took, flight.bytes) : Duration::zero();
    Impl::pay(w, flight.started, cost - flight.charged);
    if (attempt.attempted) {
        const auto took = std::clamp(attempt.took, kCostLeast, kCostMost);
        w.cost = duration_cast<Duration>((1 - kMoving) * w.cost + kMoving * took);
        // The cap grows by one each time that all attempts have gone well, and halves when the
        // receiver is overloaded.
        w.cap = attempt.overloaded ? std::max(1.0, w.cap / 2)
                                   : std::min(kCapHighest, w.cap + 1 / w.cap);
        impl_->move_to(w, took < kQuick && w.late == 0 ? quick : slow);
    }
    impl_->end_at_host(flight);
    impl_->enter(w);
    impl_->forget_if_idle(w);
}

std::size_t Scheduler::forget(core::Partition partition) {
    std::size_t forgotten = 0;
    std::vector<Impl::Webhook*> idle;
    for (auto& [name, w] : impl_->webhooks) {
        if (w.partition != partition) continue;
        if (w.in_flight == 0) idle.push_back(&w);
        for (auto& [tier, queue] : w.queues) {
            impl_->tier_at(tier).waiting -= queue.size();
        }
        if (w.waiting > 0) impl_->release(w, w.waiting);
        while (!w.queues.empty()) impl_->leave_tier(w, w.queues.begin()->first);
        w.owner->waiting -= w.waiting;
        forgotten += std::exchange(w.waiting, 0);
    }
    impl_->waiting -= forgotten;
    for (auto* w : idle) impl_->forget_if_idle(*w);
    return forgotten;
}

std::size_t Scheduler::in_flight() const { return impl_->flights.size(); }
std::size_t Scheduler::waiting() const { return impl_->waiting; }
std::size_t Scheduler::webhooks() const { return impl_->webhooks.size(); }

std::size_t Scheduler::in_flight_of(std::string_view owner) const {
    const auto* o = impl_->find_owner(owner);
    return o ? o->under_way() : 0;
}

std::size_t Scheduler::waiting_of(std::string_view owner) const {
    const auto* o = impl_->find_owner(owner);
    return o ? o->waiting : 0;
}

}  // namespace beckon::retry
