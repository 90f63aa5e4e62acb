#include "sim/sim_world.hpp"

#include "core/key_ring.hpp"
#include "sim/seeded_random.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace beckon::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMachines = 3;
constexpr std::size_t kClients = 6;

/// Runs with hostile clocks begin shortly before it. The store's compaction filter asks the clock
/// of the real host, which is the second of the two that must agree: for it all of this is to come.
constexpr core::Timestamp kMonthEnd{std::chrono::sys_days{std::chrono::year{2100} / 10 / 1}};

store::Rotation some_rotation(std::uint64_t seed) {
    constexpr std::array kAll = {store::Rotation::monthly, store::Rotation::daily,
                                 store::Rotation::off};
    return kAll[seed / 3 % kAll.size()];
}

}  // namespace

SimWorld::SimWorld(std::uint64_t seed, Clocks clocks, bool prints)
    : SimFrame(seed, clocks, prints),
      clients_return_(seed % 3 != 0),
      tracks_(!hostile_ && seed % 4 == 2),
      rotation_(hostile_ ? some_rotation(seed) : store::Rotation::off),
      buffers_(seed % 16 == 7 ? Buffers::scarce : Buffers::ample),
      keenness_(seed % 2 == 0 ? 80 : 100),
      tracking_dice_(seed) {
    seed_openssl_random(seed);
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
    // In every fourth world bounds are small enough to be met.
    const bool narrow = below(4) == 0;
    network_ = std::make_unique<SimNetwork>(executor_, random_(), up_to(40ms),
                                            narrow ? 200 + below(2'000) : 64U << 10);
    edge_options_.partitions = kPartitions;
    edge_options_.shards = 1 + below(2);
    // In some worlds one number bounds the window, in others its bytes or its largest number.
    auto& window = edge_options_.window;
    window.messages_min = 1 + seed % 5;
    window.messages_max = window.messages_min + seed % 7;
    window.unacked = std::max(10 * window.messages_min, 2 * window.messages_max);
    window.bytes = 300 * (1 + seed % 11);
    edge_options_.standbys = static_cast<int>(below(3));
    if (narrow) edge_options_.mailbox_max = 2 + below(6);
    if (narrow) edge_options_.link_bytes_max = 300 + below(2'000);
    clients_.resize(kClients);
    for (std::size_t i = 0; i < clients_.size(); ++i) clients_[i].number = i;
    edges_.resize(kMachines);
    for (std::size_t i = 0; i < edges_.size(); ++i) {
        edges_[i].name = "edge-" + std::to_string(i);
        edges_[i].directory = dir_ / edges_[i].name;
        edges_[i].log = std::make_unique<HostLog>(*log_, clock_);
    }
    endpoints_.resize(1 + below(2));
    for (std::size_t i = 0; i < endpoints_.size(); ++i) {
        endpoints_[i].directory = dir_ / ("endpoint-" + std::to_string(i));
        endpoints_[i].log = std::make_unique<HostLog>(*log_, clock_);
        start(endpoints_[i]);
    }
    for (std::size_t i = 0, running = 1 + below(kMachines); i < running; ++i) start(edges_[i]);
    if (tracks_) begin_tracking();
    report(std::to_string(edge_options_.shards) + " shards, " +
           std::to_string(edge_options_.standbys) + " standbys, mailboxes of " +
           std::to_string(edge_options_.mailbox_max) + " messages, links of " +
           std::to_string(edge_options_.link_bytes_max) + " bytes, wires of " +
           std::to_string(network_->wire_bytes_max_) + " bytes");
    executor_.run_for(3s);
}

SimWorld::~SimWorld() = default;

core::Bytes16 SimWorld::random_id() {
    core::Bytes16 out;
    for (std::size_t half = 0; half < 16; half += 8) {
        const auto bits = (*dice_)();
        std::memcpy(out.data() + half, &bits, 8);
    }
    return out;
}

std::uint64_t SimWorld::fingerprint() const {
    return fingerprint_of(*log_, {log::Topic::kNotifications, log::Topic::kSubscriptions},
                          kPartitions);
}

// ---------------------------------------------------------------------------------- processes

std::unique_ptr<HostClock> SimWorld::some_clock() {
    auto clock = std::make_unique<HostClock>(clock_);
    if (hostile_) clock->boot_with(some_step(), static_cast<int>(below(401)) - 200);
    return clock;
}

void SimWorld::start(EdgeSlot& slot) {
    if (!slot.disk) slot.disk = std::make_unique<test::MemoryDisk>();
    slot.clock = some_clock();
    auto options = edge_options_;
    options.name = slot.name;
    // Ids come in any order: of two nodes the one with the smaller id calls.
    constexpr std::size_t kIdDigits = 16;
    auto id = std::to_string(1 + below(9));
    const auto number = std::to_string(++next_node_);
    id.append(kIdDigits - 1 - number.size(), '0').append(number);
    options.id = core::NodeId{id};
    report(slot.name + " starts as node " + options.id.text);
    const auto since = std::make_shared<std::map<core::Partition, core::MonoTime>>();
    slot.process = std::make_unique<SimEdge>(
        SimEdge::Surroundings{
            .log = *slot.log,
            .executor = executor_,
            .clock = *slot.clock,
            .network = *network_,
            .clients = *this,
            .keys = keys(),
            .directory = slot.directory,
            .disk = *slot.disk,
            .rotation = rotation_,
            .buffers = buffers_,
            .tracks = tracks_,
            .opened = [this, since](core::Partition p) { (*since)[p] = clock_.mono(); },
            .placed = [this, since](core::Partition p) { time_.may_serve(p, since->at(p)); },
            .wrongly_suspected = [this] { ++tally.wrong_suspicions; },
            .failed_over =
                [this](core::Duration time) {
                    ++tally.failovers;
                    if (time < 1s) ++tally.quick_failovers;
                },
            .linked =
                [this](const std::string& what) {
                    ++tally.links;
                    report(what);
                },
            .report = [this](const std::string& what) { report(what); }},
        options);
}

void SimWorld::start(EndpointSlot& slot) {
    if (!slot.disk) slot.disk = std::make_unique<test::MemoryDisk>();
    slot.clock = some_clock();
    slot.process = std::make_unique<SimEndpoint>(
        SimEndpoint::Surroundings{
            .log = *slot.log,
            .executor = executor_,
            .clock = *slot.clock,
            .keys = keys(),
            .partitions = kPartitions,
            .tracked = tracks_ ? std::optional{tracked_key_sha256()} : std::nullopt,
            .directory = slot.directory,
            .disk = *slot.disk},
        core::NodeId{"endpoint-" + std::to_string(next_node_++)});
}

void SimWorld::start_later(EdgeSlot& slot) {
    executor_.post_after(up_to(kBackAfter), [this, &slot] {
        if (!slot.process) start(slot);
    });
}

/// Its kernel closes what was connected.
void SimWorld::end(EdgeSlot& slot) {
    const auto node = slot.process->id().text;
    slot.process.reset();
    acks_certain_since_.fill(clock_.mono());
    for (const auto& [connection, socket] : sockets_) {
        if (socket.node != node) continue;
        later_to_client(connection, [this](SimClient& client) { disconnected(client); });
    }
}

void SimWorld::kill(EdgeSlot& slot) {
    if (!slot.process) return;
    ++tally.kills;
    const bool with_disk = chance(20);
    report(slot.name + " is killed" + (with_disk ? ", its disk is lost" : ""));
    log_->kill_members(true);
    end(slot);
    log_->kill_members(false);
    if (with_disk) slot.disk.reset();
}

void SimWorld::kill(EndpointSlot& slot) {
    if (!slot.process) return;
    ++tally.kills;
    slot.process.reset();
    if (chance(20)) slot.disk.reset();
}

SimEdge* SimWorld::process(const std::string& node) {
    for (auto& slot : edges_) {
        if (slot.process && slot.process->id().text == node) return slot.process.get();
    }
    return nullptr;
}

/// A move loses acks that were on their way: the new home sends those messages again.
void SimWorld::notice_moves() {
    for (core::Partition p = 0; p < kPartitions; ++p) {
        std::string serving;
        for (const auto& slot : edges_) {
            if (slot.process && slot.process->serves(p)) serving += slot.process->id().text + " ";
        }
        auto& before = served_by_[static_cast<std::size_t>(p)];
        if (serving == before && !serving.empty()) continue;
        acks_certain_since_[static_cast<std::size_t>(p)] = clock_.mono();
        if (serving == before) continue;
        report("partition " + std::to_string(p) + " is served by " +
               (serving.empty() ? "nobody" : serving));
        if (!serving.empty() && !before.empty()) ++tally.moves;
        before = serving;
    }
}

// ---------------------------------------------------------------------------------- the story

void SimWorld::live(const Story& story) {
    for (const auto& step : story) {
        play(step, [this](const Step& now) { happen(now); });
        notice_moves();
    }
    calm_down();
    if (clients_return_) bring_clients_back();
    check();
}

void SimWorld::calm_down() {
    report("the faults are over");
    calm_ = true;
    log_->set_away(false);
    log_->set_missing_time({});
    for (auto& slot : edges_) slot.log->set_away(false);
    for (auto& slot : endpoints_) slot.log->set_away(false);
    network_->heal();
    executor_.run_for(20s);  // steps that were arranged have happened
    for (auto& slot : edges_) {
        if (!slot.process) start(slot);
    }
    for (auto& slot : endpoints_) {
        if (!slot.process) start(slot);
    }
    for (auto& slot : counters_) {
        if (!slot.process) start(slot);
    }
    executor_.run_for(30s);
    notice_moves();
    for (core::Partition p = 0; p < kPartitions; ++p) {
        const auto serving = std::count_if(edges_.begin(), edges_.end(), [&](const auto& slot) {
            return slot.process->serves(p);
        });
        if (serving != 1) {
            fail("partition " + std::to_string(p) + " has " + std::to_string(serving) + " homes");
        }
    }
    for (const auto& slot : endpoints_) {
        if (!slot.process->ready()) fail("an endpoint is not ready");
    }
}

/// True: all are there.
bool SimWorld::connect_all() {
    bool all_there = true;
    for (auto& client : clients_) {
        if (!client.uaid) continue;
        if (client.connection == 0) {
            connect(client);
            executor_.run_for(200ms);
        }
        all_there = all_there && client.greeted;
    }
    return all_there;
}

void SimWorld::bring_clients_back() {
    // A client that always acknowledges gets its waiting messages without a new hello.
    if (keenness_ < 100) {
        for (auto& client : clients_) {
            leave(client, true);
            executor_.run_for(100ms);
        }
        keenness_ = 100;
    }
    constexpr int kRoundsMax = 100;
    for (int round = 0; round < kRoundsMax && !connect_all(); ++round) executor_.run_for(1s);
    // A home that has no space for waiting frames closes a client that was attached already.
    for (int quiet = 0, round = 0; quiet < 2 && round < kRoundsMax; ++round) {
        const auto before = tally.received;
        executor_.run_for(20s);
        quiet = connect_all() && tally.received == before ? quiet + 1 : 0;
    }
    for (const auto& client : clients_) {
        const auto name = "client " + std::to_string(client.number);
        if (client.uaid && !client.greeted) {
            fail(name + " of partition " +
                 std::to_string(core::partition_of(*client.uaid, kPartitions)) +
                 " cannot come back");
        }
        if (!client.asked.empty()) fail(name + " has no answer to a register");
        if (!client.ending.empty()) fail(name + " has no answer to an unregister");
    }
    for (const auto& slot : edges_) {
        for (core::Partition p = 0; p < kPartitions; ++p) {
            if (slot.process->serves(p) && slot.process->home(p)->status().pending_tombstones > 0) {
                fail("a pending tombstone is never paid");
            }
        }
    }
}

}  // namespace beckon::sim
