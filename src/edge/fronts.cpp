#include "edge/fronts.hpp"

#include "core/logger.hpp"
#include "edge/switchboard/switchboard.hpp"
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

/// How the clients of a shard are sent away.
struct Drain {
    std::size_t portion = 0;  ///< closed in each step
    core::MonoTime give_up{};
    std::shared_ptr<std::promise<void>> done;
};

}  // namespace

struct Fronts::Shard {
    Shard(std::size_t i, const core::Clock& clock) : loop("edge-" + std::to_string(i), clock) {}

    ShardLoop loop;
    std::unique_ptr<Front> front;
    std::unique_ptr<WsServer> sockets;
    std::atomic<std::size_t> identified{0};
    bool tick_posted = false;
};

struct Fronts::Impl {
    Impl(FrontsOptions o, const core::Clock& c, std::function<std::string()> why)
        : options(std::move(o)), clock(c), why_unready(std::move(why)), admission(options.limits) {}

    std::size_t identified() const {
        std::size_t sum = 0;
        for (const auto& shard : shards) sum += shard->identified.load(std::memory_order_relaxed);
        return sum;
    }

    void build(std::size_t index, net::Descriptor listener, const EdgeMetrics& metrics);
    void drain_step(Shard& shard, Drain drain);

    FrontsOptions options;
    const core::Clock& clock;
    const std::function<std::string()> why_unready;
    net::Admission admission;
    std::vector<std::unique_ptr<Shard>> shards;
    std::unique_ptr<Switchboard> board;
    std::uint16_t port = 0;
};

void Fronts::Impl::build(std::size_t index, net::Descriptor listener, const EdgeMetrics& metrics) {
    Shard& shard = *shards[index];
    shard.sockets =
        std::make_unique<WsServer>(options.sockets, shard.loop, admission, metrics.sockets, [this] {
            return MonitorStatus{.version = options.version,
                                 .commit = options.commit,
                                 .why = why_unready(),
                                 .connections = identified()};
        });
    FrontOptions front_options = options.front;
    front_options.shard = static_cast<std::uint32_t>(index);
    shard.front = std::make_unique<Front>(
        front_options, *shard.sockets, board->homes(index),
        [this, index]() -> std::optional<core::Uaid> {
            const auto near = board->near(index);
            if (!near) return std::nullopt;
            return new_uaid_in(*near, options.partitions);
        },
        metrics.front);
    board->connect_front(index, [front = shard.front.get()](ToFront message) {
        front->receive(std::move(message));
    });
    shard.sockets->serve(*shard.front, std::move(listener));
    board->listen(index, {.moved = [front = shard.front.get()](core::Partition) { front->moved(); },
                          .peer_lost = [front = shard.front.get()](
                                           NodeNumber node,
                                           const core::NodeId&) { front->peer_lost(node); }});
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
void Fronts::Impl::drain_step(Shard& shard, Drain drain) {
    if (shard.front->go_away(drain.portion) == 0) {
        // Each connection that is still open has its close frame already, or never was a client.
        drain.give_up = std::min(drain.give_up, clock.mono() + kLinger);
    }
    if (shard.sockets->open() == 0 || clock.mono() >= drain.give_up) {
        drain.done->set_value();
        return;
    }
    shard.loop.post_after(kDrainStep,
                          [this, &shard, drain = std::move(drain)] { drain_step(shard, drain); });
}

Fronts::Fronts(FrontsOptions options, const core::Clock& clock, const EdgeMetrics& metrics,
               std::function<std::string()> why_unready)
    : impl_(std::make_unique<Impl>(std::move(options), clock, std::move(why_unready))) {
    auto listeners = net::listen_shared({.host = impl_->options.host,
                                         .port = impl_->options.port,
                                         .sockets = impl_->options.shards,
                                         .send_buffer_bytes = kSendBufferBytes});
    impl_->port = net::port_of(listeners.front());
    auto& keys = impl_->options.sockets.ticket_keys;
    if (RAND_bytes(keys.data(), static_cast<int>(keys.size())) != 1) {
        throw std::runtime_error("OpenSSL's random generator failed");
    }
    std::vector<Loop*> loops;
    for (std::size_t i = 0; i < impl_->options.shards; ++i) {
        impl_->shards.push_back(std::make_unique<Shard>(i, clock));
        loops.push_back(&impl_->shards.back()->loop);
    }
    impl_->board = std::make_unique<Switchboard>(impl_->options.partitions, loops);
    // All of lws's contexts before any thread runs.
    for (std::size_t i = 0; i < impl_->options.shards; ++i) {
        impl_->build(i, std::move(listeners[i]), metrics);
    }
}

Fronts::~Fronts() { stop(); }

void Fronts::start() {
    for (auto& shard : impl_->shards) shard->loop.start();
}

void Fronts::go_away(core::Duration drain) {
    std::vector<std::future<void>> all;
    for (auto& each : impl_->shards) {
        auto done = std::make_shared<std::promise<void>>();
        all.push_back(done->get_future());
        each->loop.post([this, shard = each.get(), drain, done] {
            shard->sockets->stop_accepting();
            const auto steps = static_cast<std::size_t>(drain / kDrainStep) + 1;
            const std::size_t portion = (shard->front->clients() + steps - 1) / steps;
            impl_->drain_step(*shard, Drain{.portion = std::max<std::size_t>(portion, 1),
                                            .give_up = impl_->clock.mono() + drain + kLinger,
                                            .done = done});
        });
    }
    for (auto& done : all) done.wait();
}

void Fronts::stop() {
    for (auto& shard : impl_->shards) {
        shard->loop.stop([&shard] { shard->sockets.reset(); });
    }
}

std::uint16_t Fronts::port() const { return impl_->port; }
std::size_t Fronts::shards() const { return impl_->shards.size(); }
ShardLoop& Fronts::loop(std::size_t shard) { return impl_->shards[shard]->loop; }
Switchboard& Fronts::switchboard() { return *impl_->board; }
std::size_t Fronts::identified() const { return impl_->identified(); }

void Fronts::broadcasts(const BroadcastsPtr& now) {
    for (auto& each : impl_->shards) {
        each->loop.post([shard = each.get(), now] { shard->front->broadcasts(now); });
    }
}

core::Result<void> Fronts::reload_tls() {
    if (!impl_->options.sockets.tls) return {};
    const auto loaded = net::TlsContext::load(*impl_->options.sockets.tls);
    if (!loaded) {
        core::log_error("edge", "tls_not_reloaded", {{"why", loaded.error().message}});
        return core::fail(loaded.error());
    }
    for (auto& each : impl_->shards) {
        each->loop.run_and_wait([&] { each->sockets->use_tls(*loaded); });
    }
    core::log_info("edge", "tls_reloaded");
    net::warn_if_not_valid(impl_->options.sockets.tls->certificate);
    return {};
}

}  // namespace beckon::edge
