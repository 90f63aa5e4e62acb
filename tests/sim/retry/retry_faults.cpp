#include "sim/retry/retry_world.hpp"

#include <utility>

namespace beckon::sim {

using namespace std::chrono_literals;
using log::Topic;

namespace {

constexpr core::Duration kRetryStillFor = 15s;
constexpr core::Duration kRetryMuteFor = 15s;
constexpr core::Duration kRetryLogAwayFor = 8s;
constexpr core::Duration kRetryHostAwayFor = 15s;  // longer than the session time-out
constexpr core::Duration kRetryHeldFor = 4s;
/// The next publishes take it.
constexpr core::Duration kPublishesFailFor = 5s;
constexpr core::Duration kSilenceMost = 60s;

}  // namespace

void RetryWorld::happen(const RetryStep& step) {
    if (is_fault(step.act)) report("fault: " + std::string{to_string(step.act)});
    auto* ready = some_ready();
    switch (step.act) {
        case RetryAct::post: return post_some();
        case RetryAct::change_mood: return change_mood();
        case RetryAct::enable:
            if (ready) enable(*ready);
            return;
        case RetryAct::redrive:
            if (ready) redrive(*ready, 1 + below(20));
            return;
        case RetryAct::kill:
        case RetryAct::stop:
        case RetryAct::freeze:
        case RetryAct::mute:
        case RetryAct::without_log:
        case RetryAct::start: return fault_of_process(step.act);
        case RetryAct::fail_publishes:
        case RetryAct::lose_reports:
        case RetryAct::log_away:
        case RetryAct::hold_reader: return fault_of_log(step.act);
        case RetryAct::compact:
            return compact(*log_, {Topic::kWebhooks, Topic::kRetryDone},
                           node_options_.deliveries.partitions);
        case RetryAct::step_clock: return step_some_clock();
        case RetryAct::silence: return executor_.run_for(up_to(kSilenceMost));
    }
}

void RetryWorld::fault_of_process(RetryAct act) {
    auto& slot = some_slot();
    if (act == RetryAct::start && !slot.process) return start(slot);
    if (!slot.process) return;
    const auto node = slot.process->id().text;
    report("  to " + node);
    switch (act) {
        case RetryAct::kill: return kill(slot);
        case RetryAct::stop: return stop(slot);
        case RetryAct::freeze: {
            const auto span = up_to(kRetryStillFor);
            disturbed(span);
            slot.process->life().stand_still(true);
            executor_.post_after(span, [this, node] {
                if (auto* one = process(node)) one->life().stand_still(false);
            });
            return;
        }
        case RetryAct::mute: {
            const auto span = up_to(kRetryMuteFor);
            disturbed(span);
            slot.process->lose_heartbeats(true);
            executor_.post_after(span, [this, node] {
                if (auto* one = process(node)) one->lose_heartbeats(false);
            });
            return;
        }
        case RetryAct::without_log: {
            const auto span = up_to(kRetryHostAwayFor);
            disturbed(span);
            slot.log->set_away(true);
            executor_.post_after(span, [&slot] { slot.log->set_away(false); });
            return;
        }
        default: return;
    }
}

void RetryWorld::fault_of_log(RetryAct act) {
    switch (act) {
        case RetryAct::fail_publishes:
            disturbed(kPublishesFailFor);
            return log_->fail_next_publishes(static_cast<int>(1 + below(4)));
        case RetryAct::lose_reports:
            disturbed(kPublishesFailFor);
            return log_->lose_next_answers(static_cast<int>(1 + below(4)));
        case RetryAct::log_away: {
            const auto span = up_to(kRetryLogAwayFor);
            disturbed(span);
            log_->set_away(true);
            // What a former home has sent arrives when it is back.
            for (auto& until : two_homes_until_) {
                if (until > clock_.mono()) until += span;
            }
            executor_.post_after(span, [this] { log_->set_away(false); });
            return;
        }
        case RetryAct::hold_reader: {
            constexpr std::array kHeld = {Topic::kRetryDone, Topic::kEvents, Topic::kRetryDead,
                                          Topic::kWebhooks, Topic::kOwnership};
            const auto dice = below(kHeld.size() + table_.tiers().size());
            const auto topic = dice < kHeld.size()
                                   ? kHeld[dice]
                                   : Topic::retry(table_.tiers()[dice - kHeld.size()]);
            const auto partitions = static_cast<std::uint64_t>(node_options_.deliveries.partitions);
            const auto p = topic == Topic::kOwnership
                               ? core::Partition{0}
                               : static_cast<core::Partition>(below(partitions));
            const log::TopicPartition where{topic, p};
            const auto span = up_to(kRetryHeldFor);
            disturbed(span);
            log_->hold_readers(where, true);
            executor_.post_after(span, [this, where] { log_->hold_readers(where, false); });
            return;
        }
        default: return;
    }
}

void RetryWorld::disturbed(core::Duration how_long, const std::string& stop_of) {
    disturbances_.push_back({clock_.mono(), clock_.mono() + how_long, stop_of});
}

/// Seconds, two minutes, ten. How far a leader's clock is set back is how much later what waits
/// may be due.
void RetryWorld::step_some_clock() {
    ++tally.clock_steps;
    constexpr std::array<std::chrono::milliseconds, 3> kMost = {5s, 2min, 10min};
    const auto most = static_cast<std::uint64_t>(kMost[below(kMost.size())].count());
    const std::chrono::milliseconds by{static_cast<std::int64_t>(below(2 * most + 1)) -
                                       static_cast<std::int64_t>(most)};
    if (below(4) == 0) {
        auto& slot = some_slot();
        if (slot.clock) slot.clock->step_wall(100 * by);
        return;
    }
    const auto tiers = table_.tiers();
    const auto dice = below(tiers.size() + 1);
    const auto topic = dice < tiers.size() ? Topic::retry(tiers[dice]) : Topic::kEvents;
    const auto p = static_cast<core::Partition>(
        below(static_cast<std::uint64_t>(node_options_.deliveries.partitions)));
    report("  of " + topic.name() + " " + std::to_string(p) + " by " + std::to_string(by.count()) +
           " ms");
    stepped_back_ += std::max<core::Duration>(-by, {});
    disturbed({});
    time_.step({topic, p}, by);
}

}  // namespace beckon::sim
