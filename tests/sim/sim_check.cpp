#include "core/partition.hpp"
#include "core/tokens.hpp"
#include "sim/sim_world.hpp"

#include <algorithm>

namespace beckon::sim {

using namespace std::chrono_literals;

namespace {

struct NoFronts final : edge::FrontTransport {
    void to_front(edge::ToFront) override {}
};

std::string offset_of(const SentMessage& message) {
    return message.offset ? std::to_string(*message.offset) : "unknown";
}

}  // namespace

Life SimWorld::life_of(const SentMessage& message) {
    return {{log::Topic::kNotifications, core::partition_of(message.uaid, kPartitions)},
            message.published,
            message.answered,
            std::chrono::seconds{message.ttl_s}};
}

bool SimWorld::expired(const SentMessage& message) const {
    if (hostile_) return time_.may_be_over(life_of(message));
    return clock_.wall() >= message.appended + std::chrono::seconds{message.ttl_s};
}

/// The time for reading stored messages: with hostile clocks none counts as expired, since every
/// clock may be wrong.
core::Timestamp SimWorld::reading_time() const {
    return hostile_ ? core::Timestamp{} : clock_.wall();
}

/// The time for comparing two stores: a message that one of them may have found expired counts in
/// neither.
core::Timestamp SimWorld::comparing_time(core::Partition p) const {
    return hostile_ ? time_.latest({log::Topic::kNotifications, p}) : clock_.wall();
}

/// A newer message of its channel and Topic stands behind it in the log, answered or not.
bool SimWorld::replaced(const SentMessage& message) const {
    if (!message.topic) return false;
    return std::any_of(sent_.begin(), sent_.end(), [&](const auto& other) {
        const auto& m = other.second;
        if (&m == &message || m.uaid != message.uaid || m.channel != message.channel ||
            m.topic != message.topic) {
            return false;
        }
        return !m.offset || *m.offset > *message.offset;  // unknown: it may stand behind
    });
}

/// Why a message that was answered 201 may be neither with its client nor pending.
bool SimWorld::explained(std::uint64_t number, const SentMessage& message) const {
    if (message.ttl_s == 0 || message.taken_back || expired(message) || replaced(message)) {
        return true;
    }
    return std::any_of(clients_.begin(), clients_.end(), [&](const SimClient& client) {
        return client.dropped.contains(message.channel) ||
               (client.received.contains(number) && client.acked.contains(number));
    });
}

std::set<std::string> SimWorld::pending_in(store::PartitionStore& store, core::Partition p) const {
    std::set<std::string> out;
    for (const auto& client : clients_) {
        if (!client.uaid || core::partition_of(*client.uaid, kPartitions) != p) continue;
        store::DrainCursor cursor{.topics = true, .after = -1, .until = 1'000'000'000};
        bool done = false;
        while (!done) {
            done = store
                       .read_pending(*client.uaid, cursor, 100, reading_time(),
                                     [&](const store::MessageView& message) {
                                         out.emplace(message.message_id);
                                     })
                       .done;
        }
    }
    return out;
}

/// A message that was acknowledged shortly before a crash or a move may come again.
bool SimWorld::certainly_acked(const SimClient& client, std::uint64_t number) const {
    const auto at = client.confirmed.find(number);
    if (at == client.confirmed.end()) return false;
    const auto p = core::partition_of(sent_.at(number).uaid, kPartitions);
    return at->second > acks_certain_since_[static_cast<std::size_t>(p)] + 10s;
}

/// Neither after its own ack nor, with a Topic, after that of a newer one.
void SimWorld::check_delivered(const SimClient& client, std::uint64_t number) {
    if (certainly_acked(client, number)) {
        fail("a message was delivered after its ack: number " + std::to_string(number));
    }
    const auto& message = sent_.at(number);
    if (!message.topic || !message.offset) return;
    for (const auto& [newer, when] : client.confirmed) {
        const auto& other = sent_.at(newer);
        const bool replaces = other.channel == message.channel && other.topic == message.topic &&
                              other.offset && *other.offset > *message.offset;
        if (replaces && certainly_acked(client, newer)) {
            fail("a message of a Topic was delivered after a newer one was acknowledged: number " +
                 std::to_string(number) + " after " + std::to_string(newer));
        }
    }
}

void SimWorld::check_messages(const std::set<std::string>& pending) {
    for (const auto& [number, message] : sent_) {
        const bool waits = pending.contains(message.version);
        if (message.answered_201 && !waits && !explained(number, message)) {
            fail("a message answered 201 is lost: number " + std::to_string(number) + ", offset " +
                 offset_of(message) + (hostile_ ? time_.story(life_of(message)) : ""));
        }
        if (message.deleted && waits) {
            fail("a deleted message is pending: number " + std::to_string(number));
        }
    }
    for (const auto& client : clients_) {
        for (const auto& [number, when] : client.confirmed) {
            if (pending.contains(sent_.at(number).version) && certainly_acked(client, number)) {
                fail("an acked message is pending: number " + std::to_string(number));
            }
        }
    }
}

void SimWorld::check_clients(const std::vector<std::unique_ptr<store::PartitionStore>>& stores) {
    for (const auto& client : clients_) {
        if (!client.uaid) continue;
        const auto p = core::partition_of(*client.uaid, kPartitions);
        auto& store = *stores[static_cast<std::size_t>(p)];
        for (const auto& [channel, path] : client.channels) {
            if (!store.channel(*client.uaid, channel)) {
                fail("client " + std::to_string(client.number) + " lost a channel");
            }
        }
    }
}

/// For the report of a failure.
std::string SimWorld::difference(core::Partition p, store::PartitionStore& rebuilt,
                                 store::PartitionStore& live) const {
    const auto in_rebuilt = pending_in(rebuilt, p);
    const auto in_live = pending_in(live, p);
    const auto only = [](const auto& these, const auto& those) {
        std::string out;
        for (const auto& version : these) {
            if (!those.contains(version)) out += " " + version;
        }
        return out;
    };
    return "rebuilt only:" + only(in_rebuilt, in_live) +
           "; live only:" + only(in_live, in_rebuilt) + "; pending tombstones " +
           std::to_string(rebuilt.pending_tombstone_count()) + " and " +
           std::to_string(live.pending_tombstone_count());
}

/// A Topic message that had expired when it was replaced goes without a tombstone. Where the log's
/// clock was set back since, and compaction has taken what replaced it, a copy that is rebuilt
/// finds it replaced before its end, and has that tombstone pending: as a home it would publish it
/// and be even.
void SimWorld::pay_for_expired(store::PartitionStore& rebuilt) {
    core::Tokens tokens{keys()};
    for (const auto& pending : rebuilt.pending_tombstones()) {
        const bool excused = std::any_of(sent_.begin(), sent_.end(), [&](const auto& entry) {
            const auto& message = entry.second;
            return pending.reason == core::FinishReason::replaced && message.topic &&
                   !message.version.empty() &&
                   tokens.open_message(message.version)->key == pending.key && expired(message);
        });
        if (excused) {
            rebuilt.finish(
                {.uaid = pending.uaid, .key = pending.key, .reason = pending.reason, .source = {}},
                reading_time());
        }
    }
    if (rebuilt.dirty() && !rebuilt.commit()) fail("a rebuilt store cannot be written");
}

/// A restore from the log gives the state of the serving homes.
void SimWorld::check_rebuilt(const std::vector<std::unique_ptr<store::PartitionStore>>& live) {
    const test::MemoryDisk disk;
    const auto store = open_store(dir_ / "rebuilt", disk, rotation_, Buffers::ample);
    {
        ProcessLife life{executor_};
        SimLoop loop{"rebuild", life};
        const auto publisher = log_->open_publisher(loop);
        core::Tokens tokens{keys()};
        edge::TombstonesInFlight tombstones;
        edge::OutcomesInFlight outcomes;
        NoFronts fronts;
        std::vector<std::unique_ptr<edge::Home>> homes;
        const edge::EdgeOptions options{.node = {"rebuilder"}, .partitions = kPartitions};
        for (core::Partition p = 0; p < kPartitions; ++p) {
            homes.push_back(std::make_unique<edge::Home>(
                p,
                edge::HomeContext{options, *log_, *publisher, fronts, loop, clock_, tokens,
                                  tombstones, outcomes},
                store->open_partition(p)));
            homes.back()->start();
        }
        const auto ready = [&] {
            return std::all_of(homes.begin(), homes.end(), [](const auto& home) {
                return home->state() == edge::Home::State::standby;
            });
        };
        for (int i = 0; i < 500 && !ready(); ++i) executor_.run_for(10ms);
        if (!ready()) fail("a partition cannot be restored");
        life.kill();
    }
    for (core::Partition p = 0; p < kPartitions; ++p) {
        const auto rebuilt = store->open_partition(p);
        auto& live_one = *live[static_cast<std::size_t>(p)];
        const auto now = comparing_time(p);
        if (hostile_) pay_for_expired(*rebuilt);
        if (rebuilt->digest(now) != live_one.digest(now)) {
            fail("partition " + std::to_string(p) +
                 ": a rebuilt store differs from the live one: " +
                 difference(p, *rebuilt, live_one));
        }
    }
}

/// Whether the serving home has read everything that stands in the log, and has no pending
/// tombstone. Until then its store and one that is rebuilt have folded different parts of the log.
bool SimWorld::is_quiet(core::Partition p) {
    const auto end_of = [&](log::Topic topic) {
        const auto& records = log_->records({topic, p});
        return records.empty() ? 0 : records.back().offset + 1;
    };
    for (const auto& slot : edges_) {
        if (!slot.process->serves(p)) continue;
        const auto status = slot.process->home(p)->status();
        return status.pending_tombstones == 0 &&
               status.notifications_next >= end_of(log::Topic::kNotifications) &&
               status.subscriptions_next >= end_of(log::Topic::kSubscriptions);
    }
    return false;
}

/// An expired message may be met, and its pending tombstone be published, at any moment.
void SimWorld::wait_until_quiet() {
    constexpr int kPollsMax = 1000;
    const auto all_quiet = [this] {
        for (core::Partition p = 0; p < kPartitions; ++p) {
            if (!is_quiet(p)) return false;
        }
        return true;
    };
    for (int looks = 0; looks < kPollsMax; ++looks) {
        if (all_quiet()) return;
        executor_.run_for(100ms);
    }
    fail("the homes never go quiet");
}

/// Each client that a front has identified has a session at a home, and no home has another one.
/// Messages between them may be on their way.
void SimWorld::check_sessions() {
    constexpr int kPollsMax = 1000;
    std::size_t at_fronts = 0;
    std::size_t at_homes = 0;
    for (int looks = 0; looks < kPollsMax; ++looks) {
        at_fronts = at_homes = 0;
        for (const auto& slot : edges_) {
            at_fronts += slot.process->identified();
            at_homes += slot.process->sessions();
        }
        if (at_fronts == at_homes) return;
        executor_.run_for(100ms);
    }
    fail("the fronts have " + std::to_string(at_fronts) + " clients, the homes " +
         std::to_string(at_homes) + " sessions");
}

void SimWorld::check() {
    check_sessions();
    wait_until_quiet();
    check_milestones();
    wait_until_quiet();  // messages expired meanwhile
    std::array<std::size_t, kPartitions> home{};
    for (core::Partition p = 0; p < kPartitions; ++p) {
        for (std::size_t i = 0; i < edges_.size(); ++i) {
            if (edges_[i].process->serves(p)) home[static_cast<std::size_t>(p)] = i;
        }
    }
    std::vector<std::unique_ptr<store::EdgeStore>> opened;
    for (auto& slot : edges_) {
        opened.push_back(slot.process->kill());
        slot.process.reset();
    }
    for (auto& slot : endpoints_) slot.process.reset();
    std::vector<std::unique_ptr<store::PartitionStore>> live;
    std::set<std::string> pending;
    for (core::Partition p = 0; p < kPartitions; ++p) {
        live.push_back(opened[home[static_cast<std::size_t>(p)]]->open_partition(p));
        pending.merge(pending_in(*live.back(), p));
    }
    check_rebuilt(live);
    check_messages(pending);
    std::erase_if(pending, [&](const auto& version) {
        const auto at = by_version_.find(version);
        return hostile_ && at != by_version_.end() && expired(sent_.at(at->second));
    });
    if (clients_return_ && !pending.empty()) {
        fail(std::to_string(pending.size()) + " messages wait though their clients came back");
    }
    check_clients(live);
}

}  // namespace beckon::sim
