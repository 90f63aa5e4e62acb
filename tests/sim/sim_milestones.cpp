#include "client/p256_key.hpp"
#include "client/vapid.hpp"
#include "core/tokens.hpp"
#include "reliability/history/milestone_codec.hpp"
#include "sim/sim_world.hpp"
#include "support/record_view.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

// Tracked messages: their milestones on the way into the log, the homes of the role reliability
// that count them, and what these may say of the messages of this world.

namespace beckon::sim {

using namespace std::chrono_literals;
using core::Milestone;

namespace {

constexpr std::size_t kCounters = 2;  ///< processes with the role
constexpr core::Duration kBetweenKills = 40s;
constexpr core::Duration kCounterBackAfter = 12s;
/// Longer than milestones linger, and than the longest pause of a writer that failed.
constexpr core::Duration kWriters = 20s;

/// The application server whose messages are tracked. One for all runs.
const client::P256Key& tracked_key() {
    static const auto key = client::P256Key::from_private(std::string(client::kScalarBytes, 7));
    return *key;
}

}  // namespace

core::Sha256 SimWorld::tracked_key_sha256() { return core::sha256(tracked_key().public_point()); }

void SimWorld::begin_tracking() {
    const auto expires =
        std::chrono::duration_cast<std::chrono::seconds>(clock_.wall().time_since_epoch()) + 12h;
    authorization_ =
        client::vapid_headers(
            tracked_key(),
            {.audience = "https://sim", .expires = expires, .subject = "mailto:sim@example.org"},
            client::VapidScheme::vapid)
            .authorization;
    counters_.resize(kCounters);
    for (std::size_t i = 0; i < counters_.size(); ++i) {
        counters_[i].directory = dir_ / ("reliability-" + std::to_string(i));
        start(counters_[i]);
    }
    kill_a_counter_later();
}

void SimWorld::start(CounterSlot& slot) {
    slot.process = std::make_unique<SimReliability>(
        SimReliability::Surroundings{
            .log = *log_, .executor = executor_, .clock = clock_, .directory = slot.directory},
        core::NodeId{"counter-" + std::to_string(next_node_++)}, kPartitions);
}

/// By dice of its own, so that the stories of the seeds stay as they are.
void SimWorld::kill_a_counter_later() {
    const auto pause = core::Duration{static_cast<core::Duration::rep>(
        tracking_dice_() % static_cast<std::uint64_t>(kBetweenKills.count()))};
    executor_.post_after(pause, [this] {
        if (calm_) return;
        auto& slot = counters_[tracking_dice_() % counters_.size()];
        if (slot.process) {
            report("a process with the role reliability is killed");
            log_->kill_members(true);
            slot.process.reset();
            log_->kill_members(false);
            if (tracking_dice_() % 5 == 0) std::filesystem::remove_all(slot.directory);
            const auto back = core::Duration{static_cast<core::Duration::rep>(
                tracking_dice_() % static_cast<std::uint64_t>(kCounterBackAfter.count()))};
            executor_.post_after(back, [this, &slot] {
                if (!slot.process) start(slot);
            });
        }
        kill_a_counter_later();
    });
}

const SimReliability* SimWorld::counter_of(core::Partition p) const {
    for (const auto& slot : counters_) {
        if (slot.process && slot.process->serving(p)) return slot.process.get();
    }
    return nullptr;
}

/// All homes have folded what stands in the log, and written it: counts are of what is folded,
/// histories of what is written.
bool SimWorld::milestones_are_counted() const {
    for (core::Partition p = 0; p < kPartitions; ++p) {
        const auto* counter = counter_of(p);
        const auto& records = log_->records({log::Topic::kReliability, p});
        if (!counter) return false;
        if (!records.empty() && counter->written(p) <= records.back().offset) return false;
    }
    return true;
}

void SimWorld::check_milestones() {
    if (!tracks_) return;
    executor_.run_for(kWriters);
    for (int looks = 0; looks < 1'000 && !milestones_are_counted(); ++looks) {
        executor_.run_for(100ms);
    }
    if (!milestones_are_counted()) return fail("the milestones are never counted");
    for (core::Partition p = 0; p < kPartitions; ++p) check_counts(p);
    for (const auto& [number, message] : sent_) {
        if (!message.reliability_id.empty()) check_history(number, message);
    }
}

/// The counts of a partition are those of its messages, of which the log names each.
void SimWorld::check_counts(core::Partition p) {
    const auto& home = *counter_of(p)->serving(p);
    std::map<std::string, std::set<Milestone>> said;
    reliability::MilestonesReached event;
    for (const auto& stored : log_->records({log::Topic::kReliability, p})) {
        const test::ReadBack record{stored.record, stored.offset, stored.time};
        if (!decode(*record, event)) continue;
        for (const auto& one : event.reached) said[event.id].insert(one.milestone);
    }
    core::MilestoneCounts expected;
    for (const auto& [id, milestones] : said) {
        const auto history = home.find(id);
        if (!history || !*history) {
            fail("the message " + id + " has milestones in the log, and no history");
            continue;
        }
        const bool ends = std::any_of(milestones.begin(), milestones.end(), core::is_terminal);
        if (ends != (*history)->ended().has_value()) {
            fail("the history of the message " + id + (ends ? " has no end" : " has an end"));
        }
        if (const auto current = (*history)->current()) ++expected[*current];
    }
    const auto counted = home.counts().counts;
    for (const auto milestone : core::kAllMilestones) {
        if (counted[milestone] == expected[milestone]) continue;
        fail("partition " + std::to_string(p) + " counts " + std::to_string(counted[milestone]) +
             " messages as " + std::string{core::to_string(milestone)} + ", there are " +
             std::to_string(expected[milestone]));
    }
}

/// A message has only ends that it had, and the end that it certainly had.
void SimWorld::check_history(std::uint64_t number, const SentMessage& message) {
    const auto& id = message.reliability_id;
    const auto p = core::partition_of(id, kPartitions);
    const auto found = counter_of(p)->serving(p)->find(id);
    const auto history = found ? *found : std::nullopt;
    const auto has = [&](Milestone milestone) { return history && history->has(milestone); };
    const auto wrong = [&](const char* what) {
        fail("message " + std::to_string(number) + " counts as " + what + ", and was not");
    };
    const auto acked = [&](const SimClient& client) { return client.acked.contains(number); };
    if (has(Milestone::delivered) && std::none_of(clients_.begin(), clients_.end(), acked)) {
        wrong("delivered");
    }
    if (has(Milestone::deleted) && !message.taken_back) wrong("deleted");
    if (has(Milestone::replaced) && !replaced(message)) wrong("replaced");
    if (has(Milestone::expired) && message.ttl_s > 0 && !expired(message)) wrong("expired");
    const bool over = std::any_of(clients_.begin(), clients_.end(), [&](const SimClient& client) {
        return certainly_acked(client, number);
    });
    if (!over) return;
    ++tally.ends_counted;
    // A milestone that the log has refused is lost with the process that would repeat it.
    if (!reports_may_be_lost_ && (!history || !history->ended())) {
        fail("message " + std::to_string(number) + " was acknowledged, and its history has no end");
    }
}

}  // namespace beckon::sim
