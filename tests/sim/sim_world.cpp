#include "sim/sim_world.hpp"

#include "core/codec.hpp"
#include "core/key_ring.hpp"
#include "core/partition.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::sim {

using namespace std::chrono_literals;
using Json = nlohmann::json;

namespace {

/// One ring for all runs: keys are random, and nothing that is checked depends on them.
std::shared_ptr<const core::KeyRing> key_ring() {
    static const auto ring = std::make_shared<const core::KeyRing>(core::KeyRing::generate());
    return ring;
}

/// Runs with hostile clocks begin shortly before it. The store's compaction filter asks the clock
/// of the real host, which is the second of the two that must agree: for it all of this is to come.
constexpr core::Timestamp kMonthEnd{std::chrono::sys_days{std::chrono::year{2100} / 10 / 1}};

store::Rotation some_rotation(std::uint64_t seed) {
    constexpr std::array kAll = {store::Rotation::monthly, store::Rotation::daily,
                                 store::Rotation::off};
    return kAll[seed / 3 % kAll.size()];
}

std::string name_of(const SimClient& client) { return "client " + std::to_string(client.number); }

}  // namespace

SimWorld::SimWorld(std::uint64_t seed, Clocks clocks)
    : hostile_(clocks == Clocks::hostile),
      rotation_(hostile_ ? some_rotation(seed) : store::Rotation::off),
      random_(seed),
      time_(clock_, seed),
      tokens_(key_ring()),
      window_(1 + seed % 5),
      keenness_(seed % 2 == 0 ? 80 : 100) {
    if (hostile_) {
        clock_.step_wall(kMonthEnd - clock_.wall() -
                         std::chrono::duration_cast<std::chrono::milliseconds>(up_to(90min)));
    }
    log_ = log::make_memory_log(
        {.seed = seed,
         .partitions = kPartitions,
         .clock = &clock_,
         .stamp = hostile_ ? [this](const auto& where) { return time_.stamp(where); }
                           : std::function<core::Timestamp(const log::TopicPartition&)>{},
         .append_delay_max = up_to(60ms),
         .read_delay_max = up_to(60ms)});
    sender_ = log_->open_publisher(executor_);
    clients_.resize(6);
    for (std::size_t i = 0; i < clients_.size(); ++i) clients_[i].number = i;
    slots_.resize(1 + seed / 2 % 2);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        slots_[i].directory = dir_ / ("edge-" + std::to_string(i));
        start(slots_[i]);
    }
    executor_.run_for(2s);
}

SimWorld::~SimWorld() = default;

core::Bytes16 SimWorld::random_id() {
    core::Bytes16 out;
    for (std::size_t half = 0; half < 16; half += 8) {
        const auto bits = random_();
        std::memcpy(out.data() + half, &bits, 8);
    }
    return out;
}

// ---------------------------------------------------------------------------------- processes

void SimWorld::start(Slot& slot) {
    slot.clock = std::make_unique<HostClock>(clock_);
    if (hostile_) slot.clock->boot_with(some_step(), static_cast<int>(below(401)) - 200);
    slot.process = std::make_unique<SimProcess>(
        SimProcess::Surroundings{.log = *log_,
                                 .executor = executor_,
                                 .clock = *slot.clock,
                                 .tokens = tokens_,
                                 .partitions = kPartitions,
                                 .delivery_window = window_,
                                 .directory = slot.directory,
                                 .rotation = rotation_,
                                 .to_front = [this](edge::ToFront m) { hear(std::move(m)); },
                                 .placed = [this, started = clock_.mono()](
                                               core::Partition p) { time_.may_serve(p, started); }},
        core::NodeId{"node-" + std::to_string(next_node_++)});
}

void SimWorld::crash(Slot& slot) {
    if (!slot.process) return;
    ++tally.crashes;
    const auto node = slot.process->id().text;
    slot.process.reset();
    acks_certain_since_.fill(clock_.mono());
    for (auto& client : clients_) {
        if (client.session != 0 && client.home == node) leave(client, false);
    }
    if (chance(20)) std::filesystem::remove_all(slot.directory);
}

SimProcess* SimWorld::process(const std::string& node) {
    for (auto& slot : slots_) {
        if (slot.process && slot.process->id().text == node) return slot.process.get();
    }
    return nullptr;
}

/// Where a front that asks any living process is sent.
SimProcess* SimWorld::home_of(const core::Uaid& uaid) {
    const auto p = core::partition_of(uaid, kPartitions);
    auto& slot = slots_[below(slots_.size())];
    if (!slot.process) return nullptr;
    const auto placement = slot.process->cluster().placement(p);
    return placement ? process(placement->home.text) : nullptr;
}

// ------------------------------------------------------------------------------------ clients

void SimWorld::connect(SimClient& client) {
    const auto uaid = client.uaid.value_or(core::Uaid{random_id()});
    auto* home = home_of(uaid);
    if (!home) return;
    client.session = ++next_session_;
    client.greeted = false;
    client.home = home->id().text;
    sessions_[client.session] = client.number;
    edge::Attach attach{{{"front"}, 0, client.session},
                        uaid,
                        client.uaid.has_value(),
                        R"({"messageType":"hello","use_webpush":true})"};
    if (!client.uaid) client.uaid = uaid;
    home->executor().post_after(
        up_to(20ms), [home, p = core::partition_of(uaid, kPartitions), attach = std::move(attach)] {
            home->home(p).receive(attach);
        });
}

void SimWorld::leave(SimClient& client, bool says_goodbye) {
    if (client.session == 0) return;
    sessions_.erase(client.session);
    const auto session = std::exchange(client.session, 0);
    client.greeted = false;
    client.asked.clear();
    // It was never told that its subscription exists: as Firefox, it starts without a uaid.
    const bool nobody = client.channels.empty() && client.dropped.empty();
    const auto uaid = *client.uaid;
    if (nobody) client.uaid.reset();
    auto* home = process(client.home);
    if (!home) return;
    // A socket that just dies is noticed later.
    home->executor().post_after(says_goodbye ? up_to(20ms) : up_to(5s),
                                [home, uaid, gone = edge::Detach{{{"front"}, 0, session}, uaid}] {
                                    home->home(core::partition_of(uaid, kPartitions)).receive(gone);
                                });
}

void SimWorld::to_home(const SimClient& client, std::string text) {
    auto* home = process(client.home);
    if (!home || client.session == 0) return;
    home->home(core::partition_of(*client.uaid, kPartitions))
        .receive(edge::FromClient{{{"front"}, 0, client.session}, *client.uaid, std::move(text)});
}

void SimWorld::hear(edge::ToFront message) {
    const auto find = [this](const edge::SessionId& id) -> SimClient* {
        const auto it = sessions_.find(id.number);
        return it == sessions_.end() ? nullptr : &clients_[it->second];
    };
    std::visit(core::Overloaded{[&](const edge::ToClient& m) {
                                    if (auto* client = find(m.session)) hear(*client, m.text);
                                },
                                [&](const edge::CloseClient& m) {
                                    if (auto* client = find(m.session)) leave(*client, false);
                                },
                                [](const edge::Attached&) {}},
               message);
}

void SimWorld::hear(SimClient& client, const std::string& text) {
    const auto frame = Json::parse(text);
    const std::string type = frame.value("messageType", "");
    if (type == "hello") {
        const core::Uaid uaid{*core::parse_hex16(frame.at("uaid").get<std::string>())};
        if (client.uaid != uaid && !client.channels.empty()) {
            fail(name_of(client) + " lost its uaid");
        }
        client.uaid = uaid;
        client.greeted = true;
    } else if (type == "register") {
        const core::ChannelId channel{
            *core::parse_dashed(frame.at("channelID").get<std::string>())};
        client.asked.erase(channel);
        if (frame.at("status") == 200) {
            client.channels.insert(channel);
            ++tally.registered;
        }
    } else if (type == "notification") {
        notified(client, frame.at("version").get<std::string>());
    }
}

void SimWorld::notified(SimClient& client, const std::string& version) {
    const auto known = sent_.find(version);
    if (known == sent_.end() || known->second.uaid != client.uaid) {
        fail(name_of(client) + " got a message that is not its own");
        return;
    }
    if (client.received.insert(version).second) ++tally.received;
    const auto& message = known->second;
    if (message.ttl_s == 0) return;
    if (message.answered_201 && time_.must_be_over(life_of(message))) {
        fail("a message was delivered that had expired, offset " + std::to_string(*message.offset));
    }
    const auto session = client.session;
    const auto later = [this, &client, session, version](core::Duration delay, auto what) {
        executor_.post_after(delay, [this, &client, session, version, what] {
            if (client.session == session) (this->*what)(client, version);
        });
    };
    if (chance(keenness_)) {
        later(up_to(chance(20) ? 3s : 30ms), &SimWorld::ack);
    } else if (chance(30)) {
        // Not from within: a home is not spoken to while it speaks.
        executor_.post([this, &client, session, version] {
            if (client.session != session) return;
            to_home(client, Json{{"messageType", "nack"}, {"version", version}}.dump());
        });
    }
}

void SimWorld::ack(SimClient& client, const std::string& version) {
    auto* home = process(client.home);
    if (!home) return;
    const auto p = core::partition_of(*client.uaid, kPartitions);
    const bool heard = home->home(p).state() == edge::Home::State::serving;
    to_home(client, Json{{"messageType", "ack"},
                         {"updates",
                          Json::array({{{"channelID", core::to_dashed(sent_.at(version).channel)},
                                        {"version", version},
                                        {"code", 100}}})}}
                        .dump());
    if (heard && client.acked.insert_or_assign(version, clock_.mono()).second) ++tally.acked;
}

void SimWorld::ask_channel(SimClient& client) {
    const core::ChannelId channel{random_id()};
    client.asked.insert(channel);
    to_home(client,
            Json{{"messageType", "register"}, {"channelID", core::to_dashed(channel)}}.dump());
}

void SimWorld::drop_channel(SimClient& client) {
    if (client.channels.empty()) return;
    auto it = client.channels.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(below(client.channels.size())));
    const auto channel = *it;
    client.channels.erase(it);
    client.dropped.insert(channel);
    to_home(
        client,
        Json{{"messageType", "unregister"}, {"channelID", core::to_dashed(channel)}, {"code", 200}}
            .dump());
}

void SimWorld::act(SimClient& client) {
    if (client.session == 0) {
        if (chance(60)) connect(client);
        return;
    }
    if (!client.greeted) return;
    const auto dice = below(100);
    if (dice < 25 && client.channels.size() < 4) {
        ask_channel(client);
    } else if (dice < 27) {
        drop_channel(client);
    } else if (dice < 35) {
        leave(client, true);
    } else if (dice < 40) {
        leave(client, false);
        connect(client);  // before its home has noticed
    } else if (dice < 45) {
        to_home(client, "{}");
    }
}

// ------------------------------------------------------------------------------------ senders

/// A message; now and then ten at once to the same client.
void SimWorld::send_some() {
    const auto& client = clients_[below(clients_.size())];
    const int count = chance(15) ? 10 : 1;
    for (int i = 0; i < count; ++i) send(client);
}

std::uint32_t SimWorld::some_ttl() {
    constexpr std::array<std::uint32_t, 5> kTtls = {0, 20, 300, 86'400, 30 * 86'400};
    constexpr std::array<std::uint32_t, 5> kWhereClocksStep = {0, 300, 3'600, 86'400, 30 * 86'400};
    const auto which = below(kTtls.size());
    return hostile_ ? kWhereClocksStep[which] : kTtls[which];
}

void SimWorld::send(const SimClient& client) {
    if (client.channels.empty()) return;
    auto channel = client.channels.begin();
    std::advance(channel, static_cast<std::ptrdiff_t>(below(client.channels.size())));
    SentMessage message{.uaid = *client.uaid, .channel = *channel, .key = {random_id()}};
    if (chance(20)) message.topic = "t" + std::to_string(below(2));
    message.ttl_s = some_ttl();
    message.published = clock_.mono();
    const auto version = tokens_.seal_message({message.uaid, message.key});

    core::NotificationAccepted event;
    event.uaid = message.uaid;
    event.key = message.key;
    event.message_id = version;
    event.channel = message.channel;
    event.ttl_s = message.ttl_s;
    if (message.topic) event.topic = *message.topic;
    event.body = "body";
    sent_[version] = message;
    sender_->publish({log::Topic::kNotifications, core::partition_of(message.uaid, kPartitions)},
                     core::encode(event), [this, version](const core::Result<log::Appended>& at) {
                         if (!at) return;  // 503
                         auto& known = sent_.at(version);
                         known.answered_201 = true;
                         known.offset = at->offset;
                         known.appended = at->time;
                         known.answered = clock_.mono();
                         ++tally.answered_201;
                     });
}

void SimWorld::trouble() {
    auto& slot = slots_[below(slots_.size())];
    switch (below(12)) {
        case 0:
        case 1:
            crash(slot);
            executor_.post_after(up_to(12s), [this, &slot] {
                if (!slot.process) start(slot);
            });
            break;
        case 2:
        case 3: log_->fail_next_publishes(static_cast<int>(1 + below(4))); break;
        case 4:
        case 5: log_->lose_next_answers(static_cast<int>(1 + below(4))); break;
        case 6:
            acks_certain_since_.fill(clock_.mono());
            log_->set_away(true);
            executor_.post_after(up_to(8s), [this] { log_->set_away(false); });
            break;
        case 7:
            if (!slot.process) break;
            slot.process->hang(true);
            executor_.post_after(up_to(15s), [this, node = slot.process->id().text] {
                if (auto* process_now = process(node)) process_now->hang(false);
            });
            break;
        case 8: {
            const auto p = static_cast<core::Partition>(below(kPartitions));
            const log::TopicPartition where{
                chance(50) ? log::Topic::kNotifications : log::Topic::kSubscriptions, p};
            log_->hold_readers(where, true);
            executor_.post_after(up_to(4s), [this, where] { log_->hold_readers(where, false); });
            break;
        }
        case 9:
            for (core::Partition p = 0; p < kPartitions; ++p) {
                for (const auto topic : {log::Topic::kNotifications, log::Topic::kSubscriptions}) {
                    const auto& records = log_->records({topic, p});
                    if (records.empty()) continue;
                    const auto before =
                        records.back().offset - static_cast<core::Offset>(below(20));
                    log_->compact({topic, p}, before, false);
                }
            }
            log_->compact({log::Topic::kOwnership, 0}, 1'000'000, false);
            break;
        default: break;
    }
}

/// Seconds, an hour, two days.
std::chrono::milliseconds SimWorld::some_step() {
    constexpr std::array<std::chrono::milliseconds, 3> kMost = {20s, 1h, 48h};
    const auto most = kMost[below(kMost.size())];
    return std::chrono::milliseconds{
               static_cast<std::int64_t>(below(2 * static_cast<std::uint64_t>(most.count()) + 1))} -
           most;
}

void SimWorld::trouble_with_time() {
    ++tally.steps;
    const auto p = static_cast<core::Partition>(below(kPartitions));
    switch (below(4)) {
        case 0: slots_[below(slots_.size())].clock->step_wall(some_step()); break;
        case 1: time_.step({log::Topic::kSubscriptions, p}, some_step()); break;
        default: time_.step({log::Topic::kNotifications, p}, some_step()); break;
    }
}

/// Nobody writes.
void SimWorld::silence() {
    executor_.run_for(up_to(15min));
    if (chance(50)) trouble_with_time();
    executor_.run_for(up_to(15min));
}

void SimWorld::misbehave() {
    for (int step = 0; step < 150; ++step) {
        if (hostile_ && chance(2)) trouble_with_time();
        if (hostile_ && chance(2)) silence();
        act(clients_[below(clients_.size())]);
        if (chance(70)) send_some();
        if (chance(hostile_ ? 8 : 15)) {
            trouble();
            executor_.run_for(up_to(1s));
            if (chance(40)) trouble();  // seldom alone
        }
        executor_.run_for(up_to(chance(10) ? 3s : 300ms));
        // A move loses acks that were on their way: the new home sends those messages again.
        for (core::Partition p = 0; p < kPartitions; ++p) {
            const auto serving = std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
                return slot.process && slot.process->home(p).state() == edge::Home::State::serving;
            });
            if (!serving) acks_certain_since_[static_cast<std::size_t>(p)] = clock_.mono();
        }
    }
}

void SimWorld::calm_down(bool clients_return) {
    clients_returned_ = clients_return;
    log_->set_away(false);
    executor_.run_for(20s);  // what was arranged has happened
    for (auto& slot : slots_) {
        if (!slot.process) start(slot);
    }
    executor_.run_for(40s);
    for (core::Partition p = 0; p < kPartitions; ++p) {
        int serving = 0;
        for (auto& slot : slots_) {
            if (slot.process->home(p).state() == edge::Home::State::serving) ++serving;
        }
        if (serving != 1) {
            fail("partition " + std::to_string(p) + " has " + std::to_string(serving) + " homes");
        }
    }
    if (!clients_return) {
        executor_.run_for(60s);
        return;
    }
    // Who acknowledged all the time needs no new hello to get what waits.
    if (keenness_ < 100) {
        for (auto& client : clients_) {
            leave(client, true);
            executor_.run_for(100ms);
        }
        keenness_ = 100;
    }
    for (int round = 0; round < 100; ++round) {
        bool all_there = true;
        for (auto& client : clients_) {
            if (!client.uaid) continue;
            if (client.session == 0) connect(client);
            executor_.run_for(200ms);
            all_there = all_there && client.greeted;
        }
        if (all_there) break;
        executor_.run_for(1s);
    }
    for (const auto& client : clients_) {
        if (client.uaid && !client.greeted) fail(name_of(client) + " cannot come back");
    }
    for (std::size_t before = 1; before != tally.received;) {
        before = tally.received;
        executor_.run_for(30s);
    }
    executor_.run_for(60s);
    for (auto& slot : slots_) {
        for (core::Partition p = 0; p < kPartitions; ++p) {
            if (slot.process->home(p).status().owed > 0) fail("a debt is never paid");
        }
    }
}

}  // namespace beckon::sim
