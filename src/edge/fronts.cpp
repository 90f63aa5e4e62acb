#include "edge/fronts.hpp"

#include "core/descriptors.hpp"
#include "core/logger.hpp"
#include "edge/switchboard/switchboard.hpp"
#include "net/connection_limiter.hpp"
#include "net/listener.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <stdexcept>
#include <utility>

#include <openssl/rand.h>

namespace beckon::edge {

using std::chrono::milliseconds;

namespace {

/// Of the kernel's memory for one client that does not read (by itself it gives 2.5 MB).
constexpr int kSendBufferBytes = 65'536;

constexpr core::Duration kDrainStep = milliseconds{20};
/// For the last close frames to be answered, or not.
constexpr core::Duration kLinger = milliseconds{1'000};

std::size_t clients_max(std::size_t wanted) {
    const auto descriptors = core::raise_descriptor_limit(net::descriptors_for(wanted));
    const auto possible = net::clients_possible(wanted, descriptors);
    if (possible < wanted) {
        core::log_warn("edge", "clients_limited",
                       {{"connections_max", wanted},
                        {"file_descriptors", descriptors},
                        {"clients_max", possible}});
    }
    return possible;
}

}  // namespace

struct Fronts::Shard {
    Shard(std::size_t i, const core::Clock& clock) : loop("edge-" + std::to_string(i), clock) {}

    ShardLoop loop;
    std::unique_ptr<Front> front;
    std::unique_ptr<WsServer> sockets;
    std::atomic<std::size_t> identified{0};
    bool tick_posted = false;
};

/// How the clients of a shard are sent away.
struct Fronts::Drain {
    std::size_t portion = 0;  ///< closed in each step
    core::MonoTime give_up{};
    std::shared_ptr<std::promise<void>> done;
};

void Fronts::build(std::size_t index, net::Descriptor listener, const EdgeMetrics& metrics) {
    Shard& shard = *shards_[index];
    shard.sockets = std::make_unique<WsServer>(
        options_, ticket_keys_, shard.loop, admission_, metrics.sockets, [this] {
            return MonitorStatus{.version = options_.version,
                                 .commit = options_.commit,
                                 .why = why_unready_(),
                                 .connections = identified()};
        });
    shard.front = std::make_unique<Front>(
        options_, static_cast<std::uint32_t>(index), *shard.sockets, board_->homes(index),
        [this, index]() -> std::optional<core::Uaid> {
            const auto near = board_->near(index);
            if (!near) return std::nullopt;
            return new_uaid_in(*near, options_.partitions);
        },
        metrics.front);
    board_->connect_front(index, [front = shard.front.get()](ToFront message) {
        front->receive(std::move(message));
    });
    shard.sockets->serve(*shard.front, std::move(listener));
    board_->listen(
        index,
        {.moved = [front = shard.front.get()](core::Partition) { front->moved(); },
         .peer_lost = [front = shard.front.get()](
                          NodeNumber node, const core::NodeId&) { front->peer_lost(node); }});
    shard.loop.at_turn_end([&shard] {
        shard.identified.store(shard.front->identified(), std::memory_order_relaxed);
        if (shard.front->wants_tick() && !std::exchange(shard.tick_posted, true)) {
            shard.loop.post_after(Front::kTick, [&shard] {
                shard.tick_posted = false;
                shard.front->tick();
            });
        }
        return false;
    });
}

/// Makes one step of the drain of a shard, and schedules the next one.
void Fronts::drain_step(Shard& shard, Drain drain) {
    if (shard.front->go_away(drain.portion) == 0) {
        // Each connection that is still open has its close frame already, or never was a client.
        drain.give_up = std::min(drain.give_up, clock_.mono() + kLinger);
    }
    if (shard.sockets->open() == 0 || clock_.mono() >= drain.give_up) {
        drain.done->set_value();
        return;
    }
    shard.loop.post_after(kDrainStep,
                          [this, &shard, drain = std::move(drain)] { drain_step(shard, drain); });
}

Fronts::Fronts(EdgeOptions options, const core::Clock& clock, const EdgeMetrics& metrics,
               std::function<std::string()> why_unready)
    : options_(std::move(options)),
      clock_(clock),
      why_unready_(std::move(why_unready)),
      admission_({.total_max = clients_max(options_.connections_max),
                  .per_address_max = options_.connections_per_address_max}) {
    const auto shards = options_.shards > 0
                            ? static_cast<std::size_t>(options_.shards)
                            : std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
    auto listeners = net::listen_shared({.host = options_.host,
                                         .port = options_.port,
                                         .sockets = shards,
                                         .send_buffer_bytes = kSendBufferBytes});
    port_ = net::port_of(listeners.front());
    if (RAND_bytes(ticket_keys_.data(), static_cast<int>(ticket_keys_.size())) != 1) {
        throw std::runtime_error("OpenSSL's random generator failed");
    }
    std::vector<Loop*> loops;
    for (std::size_t i = 0; i < shards; ++i) {
        shards_.push_back(std::make_unique<Shard>(i, clock));
        loops.push_back(&shards_.back()->loop);
    }
    board_ = std::make_unique<Switchboard>(options_.partitions, loops);
    // All of lws's contexts before any thread runs.
    for (std::size_t i = 0; i < shards; ++i) build(i, std::move(listeners[i]), metrics);
}

Fronts::~Fronts() { stop(); }

void Fronts::start() {
    for (auto& shard : shards_) shard->loop.start();
}

void Fronts::go_away(core::Duration drain) {
    std::vector<std::future<void>> all;
    for (auto& each : shards_) {
        auto done = std::make_shared<std::promise<void>>();
        all.push_back(done->get_future());
        each->loop.post([this, shard = each.get(), drain, done] {
            shard->sockets->stop_accepting();
            const auto steps = static_cast<std::size_t>(drain / kDrainStep) + 1;
            const std::size_t portion = (shard->front->clients() + steps - 1) / steps;
            drain_step(*shard, Drain{.portion = std::max<std::size_t>(portion, 1),
                                     .give_up = clock_.mono() + drain + kLinger,
                                     .done = done});
        });
    }
    for (auto& done : all) done.wait();
}

void Fronts::stop() {
    for (auto& shard : shards_) {
        shard->loop.stop([&shard] { shard->sockets.reset(); });
    }
}

std::size_t Fronts::shards() const { return shards_.size(); }
ShardLoop& Fronts::loop(std::size_t shard) { return shards_[shard]->loop; }

std::size_t Fronts::identified() const {
    std::size_t sum = 0;
    for (const auto& shard : shards_) sum += shard->identified.load(std::memory_order_relaxed);
    return sum;
}

void Fronts::broadcasts(const BroadcastsPtr& now) {
    for (auto& each : shards_) {
        each->loop.post([shard = each.get(), now] { shard->front->broadcasts(now); });
    }
}

core::Result<void> Fronts::reload_tls() {
    const auto files = tls_files(options_);
    if (!files) return {};
    const auto loaded = net::TlsContext::load(*files);
    if (!loaded) {
        core::log_error("edge", "tls_not_reloaded", {{"why", loaded.error().message}});
        return core::fail(loaded.error());
    }
    for (auto& each : shards_) {
        each->loop.run_and_wait([&] { each->sockets->use_tls(*loaded); });
    }
    core::log_info("edge", "tls_reloaded");
    net::warn_if_not_valid(files->certificate);
    return {};
}

}  // namespace beckon::edge
