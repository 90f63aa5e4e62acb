#include "core/partition.hpp"
#include "retry/home/queue/requeues.hpp"
#include "retry/home/queue/scheduler.hpp"
#include "sim/retry/retry_world.hpp"

#include <algorithm>
#include <utility>

namespace beckon::sim {

using namespace std::chrono_literals;
using log::Topic;

namespace {

/// A process that is not disturbed has written by then what it knows (PartitionTiers::kRecordEvery
/// and the way to the log).
constexpr core::Duration kWrittenWithin = 2s;
constexpr core::Duration kTwoHomesAfter = 10s;
/// So long after the last disturbance all partitions are served, what waited has been worked off,
/// and no event is on trial any more.
constexpr core::Duration kCalmAfter = 40s;
/// A first attempt begins within this, besides the way of two records through the log. Receivers
/// that turn slow together are known after kQuick; then the webhooks that waited take turns.
constexpr core::Duration kPromptWithin = retry::Scheduler::kQuick + 500ms;
/// In a crowded world one that turned slow leaves its owner a single place for twenty webhooks.
constexpr core::Duration kTurnsOfCrowd = 500ms;
/// Of the clocks of a host and of a leader together.
constexpr int kDriftInAMillion = 400;
constexpr core::Duration kStartOfTime = 1000s;   ///< ManualClock's
constexpr core::Duration kMoodKnownWithin = 5s;  ///< their time-out, and a second
constexpr std::size_t kNamedMost = 5;
constexpr core::Duration kFanOutMost = 60s;
/// So long after a webhook was enabled again without an answer, a process may not know it yet.
constexpr core::Duration kStateReadWithin = 30s;

bool has_type(const std::vector<std::string>& types, const std::string& type) {
    if (types.empty()) return true;
    return std::any_of(types.begin(), types.end(), [&](const std::string& one) {
        if (!one.ends_with('*')) return one == type;
        return type.starts_with(std::string_view{one}.substr(0, one.size() - 1));
    });
}

/// A name in each partition.
std::string in_partition(core::Partition p, core::Partition partitions) {
    for (int i = 0;; ++i) {
        auto name = std::to_string(i);
        if (core::partition_of(name, partitions) == p) return name;
    }
}

}  // namespace

// ---------------------------------------------------------------------------------- meanwhile

void RetryWorld::read_ledger() {
    ledger_.read();
    for (; events_seen_ < ledger_.events().size(); ++events_seen_) {
        note_deliveries(events_seen_);
        expect_prompt(events_seen_);
    }
}

void RetryWorld::note_deliveries(std::size_t index) {
    const auto& event = ledger_.events()[index].event;
    for (const auto& [host, hook] : hooks_) {
        event_of_[retry::delivery_id(retry::scope_of(event), event.id, hook.webhook.id)] = index;
    }
}

void RetryWorld::note_homes() {
    for (core::Partition p = 0; p < node_options_.deliveries.partitions; ++p) {
        const auto name = in_partition(p, node_options_.deliveries.partitions);
        for (const auto& slot : slots_) {
            if (!slot.process || slot.process->id().text == ledger_.holder(p)) continue;
            if (!slot.process->node().serves(name)) continue;
            two_homes_until_[static_cast<std::size_t>(p)] = clock_.mono() + kTwoHomesAfter;
        }
    }
}

bool RetryWorld::is_only_home(const std::string& node, const DeliveryLedger::Known& known) {
    note_homes();
    return ledger_.holder(known.partition) == node &&
           clock_.mono() >= two_homes_until_[static_cast<std::size_t>(known.partition)];
}

bool RetryWorld::was_disturbed(core::MonoTime from, core::MonoTime to,
                               const std::string& stop_of) const {
    return std::any_of(disturbances_.begin(), disturbances_.end(), [&](const auto& one) {
        if (!stop_of.empty() && one.stop_of == stop_of) return false;
        return one.from <= to && from <= one.to;
    });
}

void RetryWorld::began(const SimAttempt& attempt) {
    ++tally.attempts;
    read_ledger();
    const auto name = attempt.delivery + " of " + attempt.receiver;
    const auto* known = ledger_.find(attempt.delivery);
    if (!known) return fail("an attempt of a delivery that the log does not have: " + name);
    report(attempt.by.text + " attempts " + name + ", " + std::to_string(attempt.made) + " before");
    if (hooks_.at(attempt.receiver).webhook.id != known->webhook) {
        fail("a delivery goes to another webhook: " + name);
    }
    const auto event = event_of_.find(attempt.delivery);
    if (event == event_of_.end() || ledger_.events()[event->second].event.json != attempt.body) {
        fail("a delivery has another event: " + name);
    }
    if (!is_only_home(attempt.by.text, *known)) forked_.insert(attempt.delivery);
    first_attempt_.try_emplace(attempt.delivery, clock_.mono());
    if (!hooks_.at(attempt.receiver).healthy &&
        !moods_known_.contains({attempt.by.text, attempt.receiver})) {
        moods_known_from_ = clock_.mono() + kMoodKnownWithin;
    }
    check_due(attempt, *known);
    if (forked_.contains(attempt.delivery)) return;
    check_not_over(attempt, *known);
    check_success(attempt, *known);
    check_order(attempt, *known);
}

/// Its delay has passed since it was appended, by true time. With hostile clocks, whether or not
/// the leader's clock says so that was set back; or that clock was set forward, and has said since
/// that it is due.
bool RetryWorld::is_due(const DeliveryLedger::Known& known,
                        const DeliveryLedger::Written& record) const {
    if (!hostile_) return clock_.mono() + 1ms >= record.appended + ledger_.delay(record.tier);
    const auto drifted =
        (clock_.mono() - core::MonoTime{kStartOfTime}) / 1'000'000 * kDriftInAMillion + 2ms;
    if (clock_.mono() + drifted >= record.appended + ledger_.delay(record.tier)) {
        return true;
    }
    const log::TopicPartition where{Topic::retry(record.tier), known.partition};
    return time_.latest_since(where, record.appended) +
               std::chrono::ceil<std::chrono::milliseconds>(drifted) >=
           record.due;
}

/// For whoever looks into it.
std::string RetryWorld::records_of(const DeliveryLedger::Known& known) const {
    std::string out;
    for (const auto& record : known.written) {
        const log::TopicPartition where{Topic::retry(record.tier), known.partition};
        const auto now = hostile_ ? time_.latest_since(where, record.appended) : clock_.wall();
        out += "; hop " + std::to_string(record.hop) + " in " + where.topic.name() + " " +
               std::to_string(known.partition) + " at " + std::to_string(record.offset) + ", " +
               std::to_string(record.attempts) + " attempts, written at " +
               std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(
                                  record.appended - core::MonoTime{kStartOfTime})
                                  .count()) +
               " ms, due in " + std::to_string((record.due - now).count()) + " ms" +
               (ledger_.is_finished(known, record) ? ", finished" : "");
    }
    return out;
}

void RetryWorld::check_due(const SimAttempt& attempt, const DeliveryLedger::Known& known) {
    const bool due =
        std::any_of(known.written.begin(), known.written.end(), [&](const auto& record) {
            return record.attempts == attempt.made && is_due(known, record);
        });
    if (!due) fail("an attempt before its time: " + attempt.delivery + records_of(known));
}

/// Of its records the one with the highest hop is attempted, and only while it is not finished. But
/// a clock that was set back may keep the source of a promotion in its tier for longer than two
/// take-overs; a third home knows nothing of the promotion (docs/formats/retry.md).
void RetryWorld::check_not_over(const SimAttempt& attempt, const DeliveryLedger::Known& known) {
    const bool kept_by_clock =
        hostile_ && std::any_of(known.written.begin(), known.written.end(), [&](const auto& one) {
            const auto due = one.appended + ledger_.delay(one.tier);
            return one.attempts == attempt.made && due < ledger_.leased_at(known.partition) &&
                   clock_.mono() > due + retry::Requeues::kLate;
        });
    if (kept_by_clock) return;
    const bool open =
        std::any_of(known.written.begin(), known.written.end(), [&](const auto& record) {
            return record.attempts == attempt.made && record.hop == known.hop &&
                   is_due(known, record) && !ledger_.is_finished(known, record);
        });
    if (!open) {
        fail("an attempt whose outcome is in the log: " + attempt.delivery + records_of(known));
    }
}

void RetryWorld::check_success(const SimAttempt& attempt, const DeliveryLedger::Known& known) {
    const auto found = successes_.find(attempt.delivery);
    if (found == successes_.end()) return;
    const auto& success = found->second;
    const bool redriven = std::any_of(
        known.written.begin(), known.written.end(),
        [&](const auto& record) { return record.redriven && record.appended >= success.at; });
    if (redriven) return;
    ++tally.repeated;
    const auto written = success.at + kWrittenWithin;
    const bool certain =
        success.stopped_after ||
        (clock_.mono() > written && !was_disturbed(success.at - kWrittenWithin, written));
    if (certain) fail("an attempt after a success that was written: " + attempt.delivery);
}

void RetryWorld::note_order(const std::string& delivery) {
    const auto* known = ledger_.find(delivery);
    if (known->written.size() != 1 || known->written.front().tier != 0) return;
    const bool ordered = std::any_of(hooks_.begin(), hooks_.end(), [&](const auto& one) {
        return one.second.webhook.id == known->webhook && one.second.webhook.ordered;
    });
    if (ordered) in_order_[known->webhook][known->written.front().offset] = delivery;
}

/// Some tier has handed it on a minute later than its delay says, as with a clock that was set
/// back. So it was waited for no longer, and has lost its place in line.
bool RetryWorld::was_given_up(const DeliveryLedger::Known& known) const {
    for (auto one = known.written.begin(); one != known.written.end(); ++one) {
        const auto next = std::find_if(one, known.written.end(),
                                       [&](const auto& other) { return other.hop > one->hop; });
        const auto until = next == known.written.end() ? clock_.mono() : next->appended;
        const auto late = one->appended + ledger_.delay(one->tier) + retry::Requeues::kLate;
        if (one->tier > 0 && until > late) return true;
    }
    return false;
}

/// It has ended, and may have been redriven; or its partition has had another home since, which
/// knows the order of what it has read itself.
bool RetryWorld::may_be_overtaken(const std::string& delivery) const {
    const auto* known = ledger_.find(delivery);
    const bool redriven = std::any_of(known->written.begin(), known->written.end(),
                                      [](const auto& record) { return record.redriven; });
    return redriven || taken_.contains(delivery) || known->letter || known->dropped ||
           forked_.contains(delivery) || was_given_up(*known) ||
           known->written.front().appended < ledger_.leased_at(known->partition) + kTwoHomesAfter;
}

/// What has been attempted for the last time is a dead letter only a moment later.
void RetryWorld::check_order(const SimAttempt& attempt, const DeliveryLedger::Known& known) {
    const auto found = in_order_.find(known.webhook);
    if (found == in_order_.end() || known.written.front().redriven) return;
    const auto own = known.written.front().offset;
    auto& waiting = found->second;
    for (auto one = waiting.begin(); one != waiting.end() && one->first < own;) {
        const auto& other = one->second;
        if (!may_be_overtaken(other)) {
            executor_.post_after(
                kWrittenWithin, [this, other, by = attempt.delivery, at = clock_.mono()] {
                    if (may_be_overtaken(other) || was_disturbed(at, clock_.mono())) return;
                    fail("an ordered webhook's delivery overtakes " + other + ": " + by +
                         records_of(*ledger_.find(by)) + "; the other" +
                         records_of(*ledger_.find(other)));
                });
        }
        one = waiting.erase(one);
    }
}

void RetryWorld::took(const SimAttempt& attempt) {
    report(attempt.receiver + " takes " + attempt.delivery);
    taken_[attempt.delivery].push_back(clock_.mono());
}

void RetryWorld::answered(const SimAttempt& attempt, const retry::HttpAnswer& answer) {
    moods_known_.emplace(attempt.by.text, attempt.receiver);
    const bool ok = answer.end == retry::HttpAnswer::End::answered && answer.status / 100 == 2;
    if (!ok || !process(attempt.by.text)) return;
    ++tally.delivered;
    successes_[attempt.delivery] = {.at = clock_.mono(), .node = attempt.by.text};
}

/// The other webhooks make no difference.
void RetryWorld::expect_prompt(std::size_t index) {
    if (narrow_) return;
    const auto& seen = ledger_.events()[index];
    const auto bound = kPromptWithin + (crowded_ ? kTurnsOfCrowd : core::Duration{}) +
                       2 * (append_delay_max_ + read_delay_max_);
    for (const auto& [host, hook] : hooks_) {
        if (!hook.healthy || !wants(hook, seen.event)) continue;
        const auto delivery =
            retry::delivery_id(retry::scope_of(seen.event), seen.event.id, hook.webhook.id);
        const auto until = seen.appended + bound;
        executor_.post_after(
            std::max<core::Duration>(until - clock_.mono(), {}),
            [this, delivery, until, since = seen.appended, name = host] {
                if (since < moods_known_from_ || was_disturbed(since - kCalmAfter, until)) return;
                ++tally.prompt;
                const auto first = first_attempt_.find(delivery);
                if (first != first_attempt_.end() && first->second <= until) return;
                const auto* known = ledger_.find(delivery);
                fail("a healthy webhook waits: " + delivery + " of " + name +
                     (known ? records_of(*known) : ", which the log does not have"));
            });
    }
}

// ---------------------------------------------------------------------------------- in the end

bool RetryWorld::wants(const Hook& hook, const retry::Event& event) const {
    return (event.owner.empty() || event.owner == hook.webhook.owner) &&
           has_type(hook.webhook.types, event.type);
}

std::vector<RetryWorld::Expected> RetryWorld::expected() const {
    std::vector<Expected> all;
    for (const auto& seen : ledger_.events()) {
        for (const auto& [host, hook] : hooks_) {
            if (!wants(hook, seen.event)) continue;
            all.push_back(
                {retry::delivery_id(retry::scope_of(seen.event), seen.event.id, hook.webhook.id),
                 &hook, &seen});
        }
    }
    return all;
}

/// Its receiver has it, since the last redrive, or it is a dead letter. Where two homes had it at
/// a time, one may have delivered what is a dead letter of the other: redriven, that is a copy.
bool RetryWorld::has_ended(const Expected& one) const {
    const auto* known = ledger_.find(one.delivery);
    if (!known) return false;
    if (known->letter || known->dropped) return true;
    core::MonoTime since{};
    std::uint32_t hop = 0;
    for (const auto& record : known->written) {
        if (!record.redriven || record.hop <= hop) continue;
        hop = record.hop;
        since = record.appended;
    }
    const auto taken = taken_.find(one.delivery);
    if (taken == taken_.end()) return false;
    return taken->second.back() >= since || forked_.contains(one.delivery);
}

/// A webhook was enabled again at this time; from when on every event is matched with that: from
/// the answer on, if there was one.
core::MonoTime RetryWorld::known_to_all(const std::string& webhook, core::MonoTime change) const {
    const auto found = enabled_answers_.find(webhook);
    if (found == enabled_answers_.end()) return change + kStateReadWithin;
    const auto answer = found->second.lower_bound(change);
    if (answer == found->second.end()) return change + kStateReadWithin;
    return std::min(*answer, change + kStateReadWithin);
}

/// Its webhook was disabled when the event was fanned out, or the event was set aside as a dead
/// letter.
bool RetryWorld::may_be_missing(const Expected& one) const {
    if (ledger_.find(one.delivery)) return false;
    const auto letter = "rec_events-" + std::to_string(one.event->partition) + "-" +
                        std::to_string(one.event->offset);
    if (ledger_.find(letter)) return true;
    std::optional<core::MonoTime> disabled;
    for (const auto& change : ledger_.states_of(one.hook->webhook.id)) {
        if (!change.enabled && !disabled) disabled = change.at;
        if (!change.enabled || !disabled) continue;
        if (one.event->appended >= *disabled - kFanOutMost &&
            one.event->appended <= known_to_all(one.hook->webhook.id, change.at)) {
            return true;
        }
        disabled.reset();
    }
    return disabled && one.event->appended >= *disabled - kFanOutMost;
}

std::vector<std::string> RetryWorld::not_ended() const {
    std::vector<std::string> out;
    for (const auto& one : expected()) {
        if (has_ended(one) || may_be_missing(one)) continue;
        const auto* known = ledger_.find(one.delivery);
        out.push_back(one.delivery + " of event " + one.event->event.id + " to " +
                      one.hook->webhook.url + (known ? records_of(*known) : ", not written"));
    }
    return out;
}

bool RetryWorld::all_quiet() const {
    for (core::Partition p = 0; p < node_options_.deliveries.partitions; ++p) {
        if (!ledger_.all_finished(p)) return false;
    }
    return true;
}

/// The delay by a breaker, small shares, the tiers and clocks that were set back together.
core::Duration RetryWorld::longest_wait() const { return 30min + table_.total() + stepped_back_; }

void RetryWorld::wait_until_ended(const std::string& when) {
    const auto until = clock_.mono() + longest_wait();
    while (true) {
        executor_.run_for(5s);
        read_ledger();
        if (not_ended().empty() && all_quiet()) return;
        if (clock_.mono() > until) break;
    }
    const auto left = not_ended();
    for (std::size_t i = 0; i < std::min(left.size(), kNamedMost); ++i) {
        fail("a delivery is lost: " + left[i] + ", when " + when);
    }
    for (core::Partition p = 0; p < node_options_.deliveries.partitions; ++p) {
        const auto waits = ledger_.unfinished(p);
        if (!waits.empty()) fail("partition " + std::to_string(p) + " never ends:" + waits);
    }
}

/// With everything else as it should be, all that are not healthy hang or refuse.
void RetryWorld::check_promptness_beside_failing() {
    const int kBurst = crowded_ ? 10 : 40;
    constexpr int kSingle = 10;
    if (auto* by = some_ready()) enable(*by);
    for (const auto& [host, hook] : hooks_) {
        if (!hook.healthy) set_mood(host, chance(70) ? Mood::hangs : Mood::refuses);
    }
    for (int i = 0; i < kBurst; ++i) post(posted_.emplace_back(some_event()));
    executor_.run_for(crowded_ ? 60s : 10s);
    report("what hangs is known");
    for (int i = 0; i < kBurst; ++i) post(posted_.emplace_back(some_event()));
    for (int i = 0; i < kSingle; ++i) {
        executor_.run_for(700ms);
        post(posted_.emplace_back(some_event()));
    }
    executor_.run_for(5s);
}

/// Once receivers accept, whatever was a dead letter is delivered by a redrive.
void RetryWorld::check_redrive() {
    read_ledger();
    std::vector<std::string> letters;
    for (const auto& [delivery, known] : ledger_.deliveries()) {
        if (known.letter && known.webhook != retry::kNoWebhook) letters.push_back(delivery);
    }
    tally.letters = letters.size();
    auto* by = some_ready();
    if (letters.empty() || !by) return;
    redrive(*by, letters.size());
    executor_.run_for(5s);
    wait_until_ended("dead letters are redriven");
    for (const auto& delivery : letters) {
        if (ledger_.find(delivery)->letter) {
            return fail("a redriven dead letter is dead: " + delivery +
                        records_of(*ledger_.find(delivery)));
        }
    }
    check_letters();
}

/// Each process has those that are open, each once.
void RetryWorld::check_letters() {
    std::map<std::string, std::uint32_t> open;
    for (const auto& [delivery, known] : ledger_.deliveries()) {
        if (known.letter) open[delivery] = *known.letter;
    }
    for (const auto& slot : slots_) {
        std::map<std::string, std::uint32_t> counted;
        auto& node = slot.process->node();
        node.dead_letters().each(std::nullopt, [&](const retry::DeadLetter& letter) {
            counted[letter.delivery] = letter.hop;
            return true;
        });
        if (counted == open && node.dead_letters().size() == open.size()) continue;
        fail(slot.process->id().text + " counts " + std::to_string(node.dead_letters().size()) +
             " dead letters, and there are " + std::to_string(open.size()));
    }
    for (const auto& id : answered_202_) {
        const bool there = std::any_of(ledger_.events().begin(), ledger_.events().end(),
                                       [&](const auto& seen) { return seen.event.id == id; });
        if (!there) fail("an event answered 202 is not in the log: " + id);
    }
}

}  // namespace beckon::sim
