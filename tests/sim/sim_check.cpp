#include "core/codec.hpp"
#include "core/partition.hpp"
#include "sim/sim_world.hpp"

#include <algorithm>

namespace beckon::sim {

using namespace std::chrono_literals;

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

/// For looking at what is stored. No clock says what has expired if all of them may be wrong.
core::Timestamp SimWorld::reading_time() const {
    return hostile_ ? core::Timestamp{} : clock_.wall();
}

/// For comparing two stores: what one of them may have found expired counts in neither.
core::Timestamp SimWorld::comparing_time(core::Partition p) const {
    return hostile_ ? time_.latest({log::Topic::kNotifications, p}) : clock_.wall();
}

/// A newer message of its channel and Topic stands behind it in the log, answered or not.
bool SimWorld::replaced(const SentMessage& message) const {
    if (!message.topic) return false;
    return std::any_of(sent_.begin(), sent_.end(), [&](const auto& other) {
        const auto& m = other.second;
        if (m.key == message.key || m.uaid != message.uaid || m.channel != message.channel ||
            m.topic != message.topic) {
            return false;
        }
        return !m.offset || *m.offset > *message.offset;  // unknown: it may stand behind
    });
}

/// Why a message that was answered 201 may be neither with its client nor pending.
bool SimWorld::explained(const std::string& version, const SentMessage& message) const {
    if (message.ttl_s == 0 || expired(message) || replaced(message)) return true;
    for (const auto& client : clients_) {
        if (client.dropped.contains(message.channel)) return true;
        if (client.received.contains(version) && client.acked.contains(version)) return true;
    }
    return false;
}

std::set<std::string> SimWorld::pending_in(store::PartitionStore& store, core::Partition p) {
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

void SimWorld::check_messages(const std::set<std::string>& pending) {
    for (const auto& [version, message] : sent_) {
        if (message.answered_201 && !pending.contains(version) && !explained(version, message)) {
            fail("a message answered 201 is lost, offset " + std::to_string(*message.offset) +
                 (hostile_ ? time_.story(life_of(message)) : ""));
        }
    }
    for (const auto& client : clients_) {
        for (const auto& [version, when] : client.acked) {
            const auto p = core::partition_of(sent_.at(version).uaid, kPartitions);
            // What was acknowledged shortly before a crash or a move may come again.
            const auto certain = acks_certain_since_[static_cast<std::size_t>(p)] + 10s;
            if (when > certain && pending.contains(version)) fail("an acked message is pending");
        }
    }
}

void SimWorld::check_clients(const std::vector<store::PartitionStore*>& stores) {
    for (const auto& client : clients_) {
        if (!client.uaid) continue;
        const auto p = core::partition_of(*client.uaid, kPartitions);
        auto& store = *stores[static_cast<std::size_t>(p)];
        for (const auto& channel : client.channels) {
            if (!store.channel(*client.uaid, channel)) {
                fail("client " + std::to_string(client.number) + " lost a channel");
            }
        }
    }
}

/// For whoever looks into it.
std::string SimWorld::difference(core::Partition p, store::PartitionStore& rebuilt,
                                 store::PartitionStore& live) {
    const auto in_rebuilt = pending_in(rebuilt, p);
    const auto in_live = pending_in(live, p);
    const auto only = [this](const auto& these, const auto& those) {
        std::string out;
        for (const auto& version : these) {
            if (those.contains(version)) continue;
            const auto& message = sent_.at(version);
            out += " offset " + std::to_string(message.offset.value_or(-1)) + " ttl " +
                   std::to_string(message.ttl_s);
        }
        return out;
    };
    return "rebuilt only:" + only(in_rebuilt, in_live) +
           "; live only:" + only(in_live, in_rebuilt) + "; debts " +
           std::to_string(rebuilt.debt_count()) + " and " + std::to_string(live.debt_count());
}

void SimWorld::check_rebuilt(core::Partition p, store::PartitionStore& live) {
    const auto directory = dir_ / ("rebuilt-" + std::to_string(p));
    {
        SimProcess standby{{.log = *log_,
                            .executor = executor_,
                            .clock = clock_,
                            .tokens = tokens_,
                            .partitions = kPartitions,
                            .delivery_window = window_,
                            .directory = directory,
                            .rotation = rotation_,
                            .to_front = [](const edge::ToFront&) {},
                            .placed = [](core::Partition) {}},
                           core::NodeId{"rebuilder-" + std::to_string(p)}};
        // Caught up; whether it is placed here by then depends on when the dead were missed.
        const auto ready = [&] {
            const auto state = standby.home(p).state();
            return state != edge::Home::State::starting && state != edge::Home::State::restoring;
        };
        for (int i = 0; i < 500 && !ready(); ++i) executor_.run_for(10ms);
        if (!ready()) fail("partition " + std::to_string(p) + " cannot be restored");
    }
    const auto store = open_store(directory, rotation_);
    const auto rebuilt = store->open_partition(p);
    const auto now = comparing_time(p);
    if (rebuilt->digest(now) != live.digest(now)) {
        fail("partition " + std::to_string(p) +
             ": a rebuilt store differs from the live one: " + difference(p, *rebuilt, live));
    }
}

/// Whether the serving home has read everything that stands in the log, and owes nothing. Until
/// then its store and one that is rebuilt have folded different parts of the log.
bool SimWorld::is_quiet(core::Partition p) {
    const auto end_of = [&](log::Topic topic) {
        const auto& records = log_->records({topic, p});
        return records.empty() ? 0 : records.back().offset + 1;
    };
    for (const auto& slot : slots_) {
        const auto status = slot.process->home(p).status();
        if (status.state != edge::Home::State::serving) continue;
        return status.owed == 0 &&
               status.notifications_next >= end_of(log::Topic::kNotifications) &&
               status.subscriptions_next >= end_of(log::Topic::kSubscriptions);
    }
    return false;
}

/// An expired message may be met, and its debt be published, at any moment.
void SimWorld::wait_until_quiet() {
    constexpr int kLooksMax = 1000;
    const auto all_quiet = [this] {
        for (core::Partition p = 0; p < kPartitions; ++p) {
            if (!is_quiet(p)) return false;
        }
        return true;
    };
    for (int looks = 0; looks < kLooksMax; ++looks) {
        if (all_quiet()) return;
        executor_.run_for(100ms);
    }
    fail("the homes never go quiet");
}

void SimWorld::check() {
    wait_until_quiet();
    std::array<std::size_t, kPartitions> home{};
    for (core::Partition p = 0; p < kPartitions; ++p) {
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            if (slots_[i].process->home(p).state() == edge::Home::State::serving) {
                home[static_cast<std::size_t>(p)] = i;
            }
        }
    }
    std::vector<std::unique_ptr<store::EdgeStore>> opened;
    for (auto& slot : slots_) {
        slot.process.reset();
        opened.push_back(open_store(slot.directory, rotation_));
    }
    std::vector<std::unique_ptr<store::PartitionStore>> owned;
    std::vector<store::PartitionStore*> live;
    std::set<std::string> pending;
    for (core::Partition p = 0; p < kPartitions; ++p) {
        owned.push_back(opened[home[static_cast<std::size_t>(p)]]->open_partition(p));
        live.push_back(owned.back().get());
    }
    for (core::Partition p = 0; p < kPartitions; ++p) {
        check_rebuilt(p, *live[static_cast<std::size_t>(p)]);
        pending.merge(pending_in(*live[static_cast<std::size_t>(p)], p));
    }
    check_messages(pending);
    if (hostile_)
        std::erase_if(pending, [&](const auto& version) { return expired(sent_.at(version)); });
    if (clients_returned_ && !pending.empty()) {
        fail(std::to_string(pending.size()) + " messages wait though their clients came back");
    }
    check_clients(live);
}

}  // namespace beckon::sim
