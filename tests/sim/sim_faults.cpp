#include "sim/sim_world.hpp"

#include <algorithm>
#include <utility>

namespace beckon::sim {

using namespace std::chrono_literals;

namespace {

constexpr core::Duration kStillFor = 15s;
constexpr core::Duration kMuteFor = 15s;
constexpr core::Duration kLogAwayFor = 8s;
constexpr core::Duration kHostAwayFor = 15s;  // longer than the session time-out
constexpr core::Duration kHeldFor = 4s;
constexpr core::Duration kCutFor = 12s;
constexpr core::Duration kSlowFor = 6s;
constexpr core::Duration kRejectedFor = 12s;
constexpr core::Duration kTimeUnknown = 10min;
constexpr std::size_t kStepsForAReboot = 3;

}  // namespace

void SimWorld::happen(const Step& step) {
    if (is_fault(step.act)) report("fault: " + std::string{to_string(step.act)});
    switch (step.act) {
        case Act::client: return act(clients_[below(clients_.size())]);
        case Act::send: return send_some();
        case Act::take_back: return take_back();
        case Act::kill_edge:
        case Act::stop_edge:
        case Act::freeze_edge:
        case Act::mute_edge:
        case Act::edge_without_log:
        case Act::start_edge: return fault_of_edge(step.act);
        case Act::kill_endpoint:
        case Act::endpoint_without_log:
        case Act::freeze_endpoint: return fault_of_endpoint(step.act);
        case Act::fail_publishes:
        case Act::lose_reports:
        case Act::log_away:
        case Act::hold_reader: return fault_of_log(step.act);
        case Act::compact: return compact_some();
        case Act::cut_link:
        case Act::reset_link:
        case Act::slow_links: return fault_of_links(step.act);
        case Act::reject_link: return reject_links();
        case Act::step_clock: return step_some_clock();
        case Act::silence: return silence();
    }
}

void SimWorld::fault_of_edge(Act act) {
    auto& slot = some_edge();
    if (act == Act::start_edge && !slot.process) return start(slot);
    if (!slot.process) return;
    report("  to " + slot.name + ", node " + slot.process->id().text);
    const auto node = slot.process->id().text;
    switch (act) {
        case Act::kill_edge: kill(slot); return start_later(slot);
        case Act::stop_edge:
            slot.process->leave([this, &slot, node] {
                // Not from within: it is the process that calls.
                executor_.post([this, &slot, node] {
                    if (!process(node)) return;
                    report(slot.name + " has stopped");
                    end(slot);
                    start_later(slot);
                });
            });
            return;
        case Act::freeze_edge:
            acks_certain_since_.fill(clock_.mono());
            slot.process->life().stand_still(true);
            executor_.post_after(up_to(kStillFor), [this, node] {
                acks_certain_since_.fill(clock_.mono());
                report("node " + node + " goes on");
                if (auto* edge = process(node)) edge->life().stand_still(false);
            });
            return;
        case Act::mute_edge:
            slot.process->lose_heartbeats(true);
            executor_.post_after(up_to(kMuteFor), [this, node] {
                if (auto* edge = process(node)) edge->lose_heartbeats(false);
            });
            return;
        case Act::edge_without_log:
            reports_may_be_lost_ = true;
            acks_certain_since_.fill(clock_.mono());
            slot.log->set_away(true);
            executor_.post_after(up_to(kHostAwayFor), [this, &slot] {
                acks_certain_since_.fill(clock_.mono());
                report(slot.name + " reaches the log again");
                slot.log->set_away(false);
            });
            return;
        default: return;
    }
}

void SimWorld::fault_of_endpoint(Act act) {
    auto& slot = endpoints_[below(endpoints_.size())];
    if (!slot.process) return;
    if (act == Act::kill_endpoint) {
        kill(slot);
        executor_.post_after(up_to(kBackAfter), [this, &slot] {
            if (!slot.process) start(slot);
        });
        return;
    }
    if (act == Act::endpoint_without_log) {
        slot.log->set_away(true);
        executor_.post_after(up_to(kHostAwayFor), [&slot] { slot.log->set_away(false); });
        return;
    }
    slot.process->life().stand_still(true);
    executor_.post_after(up_to(kStillFor), [&slot] {
        if (slot.process) slot.process->life().stand_still(false);
    });
}

void SimWorld::fault_of_log(Act act) {
    reports_may_be_lost_ |= act != Act::hold_reader;
    switch (act) {
        case Act::fail_publishes: return log_->fail_next_publishes(static_cast<int>(1 + below(4)));
        case Act::lose_reports: return log_->lose_next_answers(static_cast<int>(1 + below(4)));
        case Act::log_away:
            acks_certain_since_.fill(clock_.mono());
            log_->set_away(true);
            executor_.post_after(up_to(kLogAwayFor), [this] {
                acks_certain_since_.fill(clock_.mono());
                log_->set_away(false);
            });
            return;
        case Act::hold_reader: {
            const auto topic = below(5) == 0   ? log::Topic::kOwnership
                               : below(2) == 0 ? log::Topic::kNotifications
                                               : log::Topic::kSubscriptions;
            const auto p = topic == log::Topic::kOwnership
                               ? core::Partition{0}
                               : static_cast<core::Partition>(below(kPartitions));
            const log::TopicPartition where{topic, p};
            log_->hold_readers(where, true);
            executor_.post_after(up_to(kHeldFor),
                                 [this, where] { log_->hold_readers(where, false); });
            return;
        }
        default: return;
    }
}

void SimWorld::compact_some() {
    remember_messages();
    compact(*log_, {log::Topic::kNotifications, log::Topic::kSubscriptions}, kPartitions);
}

void SimWorld::fault_of_links(Act act) {
    if (act == Act::reset_link) {
        // An ack that was on its way is lost; its message comes again when the drain gets to it.
        acks_certain_since_.fill(clock_.mono());
        const auto received_by = below(3);
        return network_->reset_one(below(1'000),
                                   {.caller = received_by != 0, .called = received_by != 1});
    }
    if (act == Act::slow_links) {
        network_->slow_down(up_to(2s));
        executor_.post_after(up_to(kSlowFor), [this] { network_->slow_down({}); });
        return;
    }
    const auto& one = some_edge();
    const auto& other = some_edge();
    if (!one.process || !other.process || &one == &other) return;
    const auto a = one.process->id().text;
    const auto b = other.process->id().text;
    report("  between " + a + " and " + b);
    acks_certain_since_.fill(clock_.mono());
    network_->cut(a, b, true);
    executor_.post_after(up_to(kCutFor), [this, a, b] {
        acks_certain_since_.fill(clock_.mono());
        network_->cut(a, b, false);
    });
}

/// Some or all other edges find nobody at a node that lives. In one of three cases it cannot even
/// object for a while, so that it is taken for gone.
void SimWorld::reject_links() {
    auto& slot = some_edge();
    const bool stands_still = chance(33);
    const auto share = chance(50) ? 100U : 50U;
    if (!slot.process) return;
    acks_certain_since_.fill(clock_.mono());
    const auto node = slot.process->id().text;
    report("  of node " + node + (stands_still ? ", which stands still" : ""));
    if (stands_still) slot.process->life().stand_still(true);
    for (const auto& other : edges_) {
        if (!other.process || &other == &slot || !chance(share)) continue;
        const auto caller = other.process->id().text;
        network_->reject(caller, node, true);
        executor_.post_after(up_to(kRejectedFor), [this, caller, node] {
            acks_certain_since_.fill(clock_.mono());
            network_->reject(caller, node, false);
        });
    }
    if (!stands_still) return;
    executor_.post_after(up_to(3s), [this, node] {
        acks_certain_since_.fill(clock_.mono());
        report("node " + node + " goes on");
        if (auto* edge = process(node)) edge->life().stand_still(false);
    });
}

/// Seconds, an hour, two days.
std::chrono::milliseconds SimWorld::some_step() {
    constexpr std::array<std::chrono::milliseconds, 3> kMost = {20s, 1h, 48h};
    const auto most = kMost[below(kMost.size())];
    return std::chrono::milliseconds{
               static_cast<std::int64_t>(below(2 * static_cast<std::uint64_t>(most.count()) + 1))} -
           most;
}

void SimWorld::step_some_clock() {
    // Drawn from no dice, so that the stories of known seeds stay as they are.
    if (++tally.clock_steps % kStepsForAReboot == 0) lose_time();
    const auto p = static_cast<core::Partition>(below(kPartitions));
    switch (below(4)) {
        case 0: {
            auto& slot = some_edge();
            if (slot.clock) slot.clock->step_wall(some_step());
            return;
        }
        case 1: return time_.step({log::Topic::kSubscriptions, p}, some_step());
        default: return time_.step({log::Topic::kNotifications, p}, some_step());
    }
}

/// As if the log's host had been down for an unknown time: everything that stands there may have
/// expired, until it is known. Nothing may be lost by that, nor stay undelivered.
void SimWorld::lose_time() {
    core::Timestamp until{};
    for (core::Partition p = 0; p < kPartitions; ++p) {
        until = std::max(until, time_.latest({log::Topic::kNotifications, p}));
    }
    log_->set_missing_time({.parts = {{.until = until, .most = core::MissingTime::kForever}}});
    const auto lost = ++tally.times_lost;
    executor_.post_after(kTimeUnknown, [this, lost] {
        if (lost == tally.times_lost) log_->set_missing_time({});
    });
}

/// Nobody writes.
void SimWorld::silence() {
    executor_.run_for(up_to(15min));
    if (chance(50)) step_some_clock();
    executor_.run_for(up_to(15min));
}

}  // namespace beckon::sim
