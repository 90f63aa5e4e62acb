#include "sim/retry/retry_world.hpp"

#include "core/key_ring.hpp"
#include "sim/seeded_random.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace beckon::sim {

using namespace std::chrono_literals;
using log::Topic;

namespace {

constexpr core::Partition kRetryPartitions = 3;
constexpr std::size_t kRetryMachines = 3;
constexpr core::Duration kRetryBackAfter = 12s;
constexpr core::Duration kStopMost = 10s;
/// A process takes what it reads for new until it has read that it is no home any more; what it
/// has sent then may still arrive.
constexpr core::Duration kTwoHomesFor = 10s;
constexpr core::Duration kWatchEvery = 500ms;
constexpr std::chrono::seconds kTimeoutOfHooks{4};
constexpr std::array kTypes = {"order.created", "order.paid", "user.new"};
constexpr std::array kOwners = {"bank", "shop"};
constexpr std::array kCrowd = {"bank-01", "bank-02", "bank-03", "bank-04", "bank-05", "bank-06",
                               "bank-07", "bank-08", "bank-09", "bank-10", "bank-11", "bank-12",
                               "bank-13", "bank-14", "bank-15", "bank-16", "bank-17", "bank-18"};

}  // namespace

RetryWorld::RetryWorld(std::uint64_t seed, Clocks clocks, bool prints)
    : SimFrame(seed, clocks, prints),
      narrow_(seed % 4 == 1),
      crowded_(seed % 4 == 2),
      append_delay_max_(up_to(60ms)),
      read_delay_max_(up_to(60ms)),
      late_by_max_(chance(50) ? up_to(5ms) : core::Duration{}),
      log_(log::make_memory_log({.seed = seed,
                                 .partitions = kRetryPartitions,
                                 .clock = &clock_,
                                 .stamp =
                                     [this](const auto& where) {
                                         appended_at_[where].push_back(clock_.mono());
                                         if (hostile_) return time_.stamp(where);
                                         return clock_.wall();
                                     },
                                 .append_delay_max = append_delay_max_,
                                 .read_delay_max = read_delay_max_})),
      // Equal delays share the tier of the first of them.
      table_(*retry::TierTable::from({0s, 2s, 10s, 10s, 40s})),
      receivers_(executor_, clock_, random_(),
                 {.began = [this](const auto& attempt) { began(attempt); },
                  .took = [this](const auto& attempt) { took(attempt); },
                  .answered = [this](const auto& attempt,
                                     const auto& answer) { answered(attempt, answer); }}),
      ledger_({.partitions = kRetryPartitions,
               .delays = {{0, 0s}, {1, 2s}, {2, 10s}, {4, 40s}},
               .log = *log_,
               .appended_at =
                   [this](const auto& where, core::Offset offset) {
                       return appended_at_.at(where).at(static_cast<std::size_t>(offset));
                   }},
              {.lease_moved =
                   [this](core::Partition p, const std::string& before) {
                       ++tally.moves;
                       report("partition " + std::to_string(p) + " goes from " + before + " to " +
                              ledger_.holder(p));
                       if (!process(before)) return;
                       disturbed({});  // its last completions may stand behind the new lease
                       two_homes_until_[static_cast<std::size_t>(p)] = clock_.mono() + kTwoHomesFor;
                   },
               .written =
                   [this](core::Partition p, const std::string& delivery, core::MonoTime at) {
                       if (at < two_homes_until_[static_cast<std::size_t>(p)]) {
                           forked_.insert(delivery);
                       }
                       note_order(delivery);
                   }}),
      node_options_{.deliveries = {.partitions = kRetryPartitions, .table = table_}},
      threads_(1 + below(2)),
      two_homes_until_(kRetryPartitions) {
    seed_openssl_random(seed);
    // In every fourth world shares are small enough to be met, and what is beyond waits in tiers;
    // in every fourth one there are more webhooks that may hang than places for attempts.
    node_options_.deliveries.schedule.workers = narrow_ || crowded_ ? 16 : 64;
    node_options_.deliveries.schedule.queued_max = narrow_ ? 64 : 1'024;
    // Clocks of two partitions' leaders may be days apart, and small shares take long: nothing is
    // old there.
    if (!hostile_ && !narrow_ && chance(50)) node_options_.deliveries.age_max = 5min;
    slots_.resize(kRetryMachines);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        slots_[i].name = "retry-" + std::to_string(i);
        slots_[i].log = std::make_unique<HostLog>(*log_, clock_);
    }
    for (std::size_t i = 0, running = 1 + below(kRetryMachines); i < running; ++i) start(slots_[i]);
    executor_.run_for(15s);
    make_webhooks();
    watch();
}

RetryWorld::~RetryWorld() = default;

std::uint64_t RetryWorld::fingerprint() const {
    std::vector<Topic> topics{Topic::kEvents, Topic::kRetryDead, Topic::kRetryDone};
    for (const int tier : table_.tiers()) topics.push_back(Topic::retry(tier));
    return fingerprint_of(*log_, topics, kRetryPartitions);
}

// ---------------------------------------------------------------------------------- processes

void RetryWorld::start(Slot& slot) {
    slot.clock = std::make_unique<HostClock>(clock_);
    if (hostile_) {
        constexpr std::int64_t kWrongMost = std::chrono::milliseconds{48h}.count();
        slot.clock->boot_with(
            std::chrono::milliseconds{static_cast<std::int64_t>(below(2 * kWrongMost + 1)) -
                                      kWrongMost},
            static_cast<int>(below(401)) - 200);
    }
    auto options = node_options_;
    options.deliveries.node = core::NodeId{"node-" + std::to_string(++next_node_)};
    options.node_name = slot.name;
    report(slot.name + " starts as " + options.deliveries.node.text);
    disturbed({});
    slot.process = std::make_unique<SimRetry>(
        SimRetry::Surroundings{.log = *slot.log,
                               .executor = executor_,
                               .true_time = clock_,
                               .clock = *slot.clock,
                               .receivers = receivers_,
                               .keys = keys(),
                               .seed = (*dice_)()},
        SimRetry::Options{
            .node = std::move(options), .threads = threads_, .late_by_max = late_by_max_});
}

void RetryWorld::start_later(Slot& slot) {
    executor_.post_after(up_to(kRetryBackAfter), [this, &slot] {
        if (!slot.process) start(slot);
    });
}

void RetryWorld::kill(Slot& slot) {
    ++tally.kills;
    disturbed({});
    slot.process.reset();
    start_later(slot);
}

/// Outcomes that the process knew before, and wrote undisturbed, are never attempted again.
void RetryWorld::stop(Slot& slot) {
    const auto node = slot.process->id().text;
    const auto begun = clock_.mono();
    disturbed(kStopMost, node);
    slot.process->stop([this, &slot, node, begun] {
        // Not from within: it is the process that calls.
        executor_.post([this, &slot, node, begun] {
            if (!process(node)) return;
            report(node + " has stopped");
            for (auto& [delivery, success] : successes_) {
                success.stopped_after |= success.node == node && success.at < begun &&
                                         !was_disturbed(success.at, clock_.mono(), node);
            }
            slot.process.reset();
            disturbed({}, node);
            start_later(slot);
        });
    });
    executor_.post_after(kStopMost, [this, &slot, node] {
        if (process(node)) kill(slot);
    });
}

SimRetry* RetryWorld::process(const std::string& node) {
    for (auto& slot : slots_) {
        if (slot.process && slot.process->id().text == node) return slot.process.get();
    }
    return nullptr;
}

SimRetry* RetryWorld::some_ready() {
    std::vector<SimRetry*> ready;
    for (auto& slot : slots_) {
        if (slot.process && slot.process->ready() && !slot.process->life().is_stalled()) {
            ready.push_back(slot.process.get());
        }
    }
    return ready.empty() ? nullptr : ready[below(ready.size())];
}

// ---------------------------------------------------------------------------------- applications

/// Of each owner one that always accepts, and others; names that the dice give are in any
/// partition.
void RetryWorld::make_webhooks() {
    struct Plan {
        const char* host;
        std::size_t owner;
        std::vector<std::string> types;
        bool healthy;
        bool ordered;
    };
    std::vector<Plan> plans = {{"bank-healthy", 0, {"order.*"}, true, false},
                               {"bank-1", 0, {}, false, false},
                               {"bank-2", 0, {"order.created"}, false, true},
                               {"shop-healthy", 1, {}, true, false},
                               {"shop-1", 1, {"order.*"}, false, false},
                               {"shop-2", 1, {}, false, false},
                               {"shop-3", 1, {"user.*", "order.paid"}, false, true}};
    if (crowded_) {
        for (const auto* host : kCrowd) plans.push_back({host, 0, {"order.paid"}, false, false});
    }
    std::size_t answered = 0;
    auto* by = some_ready();
    if (!by) return fail("no process is ready at first");
    for (const auto& plan : plans) {
        retry::Webhook webhook;
        for (int i = 0; i < 32; ++i) webhook.id += "0123456789abcdef"[below(16)];
        webhook.owner = kOwners[plan.owner];
        webhook.url = "http://" + std::string{plan.host} + "/";
        webhook.types = plan.types;
        webhook.secrets = {std::string(32, 's')};
        webhook.timeout = kTimeoutOfHooks;
        webhook.ordered = plan.ordered;
        hooks_[plan.host] = {.webhook = webhook, .healthy = plan.healthy};
        by->on_api([&answered, webhook](retry::RetryNode& node) {
            node.put_webhook(webhook, [&answered](const auto& written) {
                if (written) ++answered;
            });
        });
    }
    executor_.run_for(5s);
    if (answered != plans.size()) fail("not all webhooks are made");
}

retry::Event RetryWorld::some_event() {
    std::string owner;
    if (chance(70)) owner = kOwners[below(kOwners.size())];
    const auto id = std::to_string(++next_event_);
    // Some are so large that their deliveries name them.
    const std::string pad(chance(40) ? retry::kEventInDeliveryMax : 1, 'x');
    auto event = *retry::parse_structured(
        R"({"specversion":"1.0","id":")" + id + R"(","source":"/app","type":")" +
        kTypes[below(kTypes.size())] + R"(","data":{"n":)" + id + R"(,"pad":")" + pad + "\"}}");
    return owner.empty() ? event : *retry::for_owner(event, owner);
}

void RetryWorld::post(const retry::Event& event) {
    auto* by = some_ready();
    if (!by) return;
    by->on_api([this, event](retry::RetryNode& node) {
        if (!node.may_post(event, event.owner)) return;
        node.post_event(event, event.owner, [this, id = event.id](const auto& written) {
            if (written) answered_202_.insert(id);
        });
    });
}

void RetryWorld::post_some() {
    if (!posted_.empty() && chance(10)) return post(posted_[below(posted_.size())]);
    const auto count = chance(10) ? 1 + below(40) : 1 + below(3);
    for (std::size_t i = 0; i < count; ++i) {
        posted_.push_back(some_event());
        post(posted_.back());
    }
}

void RetryWorld::change_mood() {
    auto at = std::next(hooks_.begin(), static_cast<std::ptrdiff_t>(below(hooks_.size())));
    if (at->second.healthy) return;
    // Most of the time it works.
    const auto mood = chance(40) ? Mood::accepts : static_cast<Mood>(below(kMoods));
    set_mood(at->first, mood);
}

void RetryWorld::set_mood(const std::string& host, Mood mood) {
    report(host + " " + std::string{to_string(mood)});
    receivers_.set_mood(host, mood);
    std::erase_if(moods_known_, [&](const auto& one) { return one.second == host; });
}

/// As the API does, once the receiver is there again.
void RetryWorld::enable(SimRetry& by) {
    for (const auto& [host, hook] : hooks_) {
        const auto* entry = by.node().webhooks().find(hook.webhook.id);
        if (!entry || entry->state.enabled) continue;
        report(host + " is enabled again");
        set_mood(host, Mood::accepts);
        by.on_api([this, id = hook.webhook.id](retry::RetryNode& node) {
            node.put_state(id, {.enabled = true, .reason = "", .enabled_now = true},
                           [this, id](const auto& written) {
                               if (!written) return;
                               enabled_answers_[id].insert(clock_.mono());
                               for (int i = 0; i < 3; ++i) post(posted_.emplace_back(some_event()));
                           });
        });
    }
}

void RetryWorld::redrive(SimRetry& by, std::size_t most) {
    by.on_api([this, most](retry::RetryNode& node) {
        if (!node.knows_dead_letters()) return;
        std::vector<retry::DeadLetter> some;
        node.dead_letters().each(std::nullopt, [&](const retry::DeadLetter& letter) {
            const auto* entry = node.webhooks().find(letter.webhook);
            if (entry && entry->state.enabled) some.push_back(letter);
            return some.size() < most;
        });
        if (some.empty()) return;
        report(std::to_string(some.size()) + " dead letters are redriven");
        node.resender().redrive(some,
                                [this](const auto& outcome) { tally.redriven += outcome.settled; });
    });
}

// ---------------------------------------------------------------------------------- the story

void RetryWorld::live(const RetryStory& story) {
    if (!broken.empty()) return;
    for (const auto& step : story) {
        play(step, [this](const RetryStep& now) { happen(now); });
    }
    calm_down();
    check_promptness_beside_failing();
    for (const auto& [host, hook] : hooks_) set_mood(host, Mood::accepts);
    if (auto* by = some_ready()) enable(*by);
    wait_until_ended("the receivers accept");
    check_letters();
    check_redrive();
    tally.events = ledger_.events().size();
}

/// Keeps the ledger and the homes up to date while no attempt is made.
void RetryWorld::watch() {
    read_ledger();
    note_homes();
    executor_.post_after(kWatchEvery, [this] { watch(); });
}

void RetryWorld::calm_down() {
    report("the faults are over");
    log_->set_away(false);
    for (auto& slot : slots_) slot.log->set_away(false);
    executor_.run_for(20s);  // what was arranged has happened
    for (auto& slot : slots_) {
        if (!slot.process) start(slot);
    }
    executor_.run_for(45s);
    for (const auto& slot : slots_) {
        if (!slot.process->ready()) {
            fail(slot.process->id().text + " is not ready: " + slot.process->why_unready());
        }
    }
    std::size_t served = 0;
    for (const auto& slot : slots_) served += slot.process->node().partitions_served();
    if (served != kRetryPartitions) fail(std::to_string(served) + " homes of partitions serve");
}

}  // namespace beckon::sim
