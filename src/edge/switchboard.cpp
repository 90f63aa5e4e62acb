#include "edge/switchboard.hpp"

#include "edge/closings.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

namespace beckon::edge {

namespace {

/// What one turn of a shard has for another one.
struct Batch {
    std::vector<ToHome> to_homes;
    std::vector<ToFront> to_fronts;
    bool empty() const { return to_homes.empty() && to_fronts.empty(); }
};

const core::Uaid& uaid_of(const ToHome& message) {
    return std::visit([](const auto& m) -> const core::Uaid& { return m.uaid; }, message);
}

template <class Message>
const SessionId& session_of(const Message& message) {
    return std::visit([](const auto& m) -> const SessionId& { return m.session; }, message);
}

/// In place of a frame that finds the way to its front full.
CloseClient overloaded(const SessionId& session) {
    return {.session = session,
            .code = closing::kOverloaded.code,
            .reason = std::string{closing::kOverloaded.reason},
            .kind = CloseClient::Kind::held};
}

/// Homes that answer each other's messages within a turn get this many rounds; then sockets have
/// their turn.
constexpr int kRoundsMax = 8;

}  // namespace

struct Switchboard::Shard final : HomePort, FrontPort {
    Shard(Impl& b, std::size_t i, ShardLoop& l, std::size_t partitions)
        : board(b), index(i), loop(l), routes(partitions, Place{}) {}

    // --- HomePort
    std::optional<Place> home_of(const core::Uaid& uaid) const override;
    Sent to_home(Place place, ToHome&& message) override;
    // --- FrontPort
    void to_front(ToFront message) override;

    bool end_turn();
    void take(Batch& batch);
    void flush();
    Sent to_home_here(ToHome&& message);
    void to_front_elsewhere(const core::NodeId& node, ToFront&& message);
    void hand_to_home(ToHome&& message);

    Place place_of(const core::NodeId& node);
    void route(std::size_t partition, const core::NodeId& home);
    void set_up(const core::NodeId& node, bool up);

    Impl& board;
    const std::size_t index;
    ShardLoop& loop;
    FrontInbox front;
    std::vector<Listener> listeners;
    std::vector<ToHome> local;
    std::vector<ToHome> running;
    std::vector<Batch> out;         ///< by shard
    core::Partition last_near = 0;  ///< where near() went on

    /// Other nodes by Place::node, from 1 on; each that was ever seen keeps its number.
    struct Node {
        core::NodeId id;
        bool up = false;  ///< its link
    };
    std::vector<Node> nodes;
    std::vector<std::optional<Place>> routes;  ///< by partition

    /// Messages on their way to this shard, counted when they are gathered. Any thread.
    std::atomic<std::size_t> waiting{0};
};

struct Switchboard::Impl {
    struct Home {
        HomeInbox inbox;  ///< of the home's shard's thread
        std::atomic<bool> connected{false};
        std::atomic<bool> serving{false};
    };

    std::size_t partition_of(const core::Uaid& uaid) const {
        return static_cast<std::size_t>(
            core::partition_of(uaid, static_cast<core::Partition>(homes.size())));
    }

    std::deque<Home> homes;  ///< by partition
    std::deque<Shard> shards;
    core::NodeId self;          ///< constant once the loops run
    LinkPort* links = nullptr;  ///< constant once the loops run
};

std::optional<Place> Switchboard::Shard::home_of(const core::Uaid& uaid) const {
    return routes[board.partition_of(uaid)];
}

Sent Switchboard::Shard::to_home(Place place, ToHome&& message) {
    if (place.node == 0) return to_home_here(std::move(message));
    if (!board.links || place.node > nodes.size()) return Sent::away;
    return board.links->to_home(nodes[place.node - 1].id, message);
}

Sent Switchboard::Shard::to_home_here(ToHome&& message) {
    const auto partition = board.partition_of(uaid_of(message));
    if (!board.homes[partition].connected.load(std::memory_order_acquire)) return Sent::away;
    const bool must_go = std::holds_alternative<Detach>(message);
    Shard& home = board.shards[partition % board.shards.size()];
    if (&home == this) {
        if (!must_go && local.size() >= kWaitingMax) return Sent::full;
        local.push_back(std::move(message));
        return Sent::yes;
    }
    if (!must_go && home.waiting.load(std::memory_order_relaxed) >= kWaitingMax) return Sent::full;
    home.waiting.fetch_add(1, std::memory_order_relaxed);
    out[home.index].to_homes.push_back(std::move(message));
    return Sent::yes;
}

void Switchboard::Shard::to_front(ToFront message) {
    const SessionId& session = session_of(message);
    if (board.links && session.front != board.self) {
        return to_front_elsewhere(core::NodeId{session.front}, std::move(message));
    }
    if (session.shard >= board.shards.size()) return;
    Shard& to = board.shards[session.shard];
    if (&to == this) {
        if (front) front(std::move(message));
        return;
    }
    if (std::holds_alternative<ToClient>(message) &&
        to.waiting.load(std::memory_order_relaxed) >= kWaitingMax) {
        message = overloaded(session);
    }
    to.waiting.fetch_add(1, std::memory_order_relaxed);
    out[to.index].to_fronts.push_back(std::move(message));
}

/// If the link is down, its loss is told to the homes, which forget the sessions.
void Switchboard::Shard::to_front_elsewhere(const core::NodeId& node, ToFront&& message) {
    if (board.links->to_front(node, message) != Sent::full) return;
    board.links->to_front(node, overloaded(session_of(message)));
}

bool Switchboard::Shard::end_turn() {
    for (int round = 0; round < kRoundsMax && !local.empty(); ++round) {
        std::swap(local, running);
        for (auto& message : running) hand_to_home(std::move(message));
        running.clear();
    }
    flush();
    return !local.empty();
}

void Switchboard::Shard::flush() {
    for (std::size_t to = 0; to < out.size(); ++to) {
        if (out[to].empty()) continue;
        Shard& shard = board.shards[to];
        shard.loop.post(
            [&shard, batch = std::make_shared<Batch>(std::move(out[to]))] { shard.take(*batch); });
        out[to] = {};
    }
}

void Switchboard::Shard::take(Batch& batch) {
    waiting.fetch_sub(batch.to_homes.size() + batch.to_fronts.size(), std::memory_order_relaxed);
    for (auto& message : batch.to_fronts) {
        if (front) front(std::move(message));
    }
    for (auto& message : batch.to_homes) hand_to_home(std::move(message));
}

/// A front that has not heard yet that the home has gone is told so.
void Switchboard::Shard::hand_to_home(ToHome&& message) {
    auto& home = board.homes[board.partition_of(uaid_of(message))];
    if (home.inbox) return home.inbox(std::move(message));
    if (std::holds_alternative<Detach>(message)) return;
    to_front(CloseClient{.session = session_of(message),
                         .code = closing::kNotServing.code,
                         .reason = std::string{closing::kNotServing.reason},
                         .kind = CloseClient::Kind::released});
}

Place Switchboard::Shard::place_of(const core::NodeId& node) {
    if (node == board.self) return {};
    const auto known =
        std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.id == node; });
    const auto at = static_cast<std::uint32_t>(known - nodes.begin());
    if (known == nodes.end()) nodes.push_back({.id = node});
    return {.node = at + 1};
}

void Switchboard::Shard::route(std::size_t partition, const core::NodeId& home) {
    const auto place = place_of(home);
    if (routes[partition] == place) return;
    routes[partition] = place;
    for (const auto& listener : listeners) {
        if (listener.moved) listener.moved(static_cast<core::Partition>(partition));
    }
}

void Switchboard::Shard::set_up(const core::NodeId& node, bool up) {
    const auto place = place_of(node);
    nodes[place.node - 1].up = up;
    if (up) return;
    for (const auto& listener : listeners) {
        if (listener.peer_lost) listener.peer_lost(place, node);
    }
}

Switchboard::Switchboard(core::Partition partitions, const std::vector<ShardLoop*>& loops)
    : impl_(std::make_unique<Impl>()) {
    impl_->homes.resize(static_cast<std::size_t>(partitions));
    for (std::size_t i = 0; i < loops.size(); ++i) {
        auto& shard = impl_->shards.emplace_back(*impl_, i, *loops[i], impl_->homes.size());
        shard.out.resize(loops.size());
        loops[i]->at_turn_end([&shard] { return shard.end_turn(); });
    }
}

Switchboard::~Switchboard() = default;

std::size_t Switchboard::shard_of(core::Partition partition) const {
    return static_cast<std::size_t>(partition) % impl_->shards.size();
}

HomePort& Switchboard::homes(std::size_t shard) { return impl_->shards[shard]; }
FrontPort& Switchboard::fronts(std::size_t shard) { return impl_->shards[shard]; }

void Switchboard::connect_home(core::Partition partition, HomeInbox inbox) {
    auto& home = impl_->homes[static_cast<std::size_t>(partition)];
    home.inbox = std::move(inbox);
    home.connected.store(static_cast<bool>(home.inbox), std::memory_order_release);
}

void Switchboard::connect_front(std::size_t shard, FrontInbox inbox) {
    impl_->shards[shard].front = std::move(inbox);
}

void Switchboard::listen(std::size_t shard, Listener listener) {
    impl_->shards[shard].listeners.push_back(std::move(listener));
}

void Switchboard::connect_links(core::NodeId self, LinkPort& links) {
    impl_->self = std::move(self);
    impl_->links = &links;
    for (auto& shard : impl_->shards) {
        std::fill(shard.routes.begin(), shard.routes.end(), std::nullopt);
    }
}

void Switchboard::route(core::Partition partition, const core::NodeId& home) {
    if (!impl_->links) return;
    for (auto& shard : impl_->shards) {
        shard.loop.post(
            [&shard, partition, home] { shard.route(static_cast<std::size_t>(partition), home); });
    }
}

void Switchboard::arrived(std::vector<ToHome> to_homes, std::vector<ToFront> to_fronts) {
    std::vector<Batch> batches(impl_->shards.size());
    for (auto& message : to_homes) {
        const auto shard = impl_->partition_of(uaid_of(message)) % batches.size();
        batches[shard].to_homes.push_back(std::move(message));
    }
    for (auto& message : to_fronts) {
        const std::size_t shard = session_of(message).shard;
        if (shard < batches.size()) batches[shard].to_fronts.push_back(std::move(message));
    }
    for (std::size_t i = 0; i < batches.size(); ++i) {
        if (batches[i].empty()) continue;
        Shard& shard = impl_->shards[i];
        shard.waiting.fetch_add(batches[i].to_homes.size() + batches[i].to_fronts.size(),
                                std::memory_order_relaxed);
        shard.loop.post([&shard, batch = std::make_shared<Batch>(std::move(batches[i]))] {
            shard.take(*batch);
        });
    }
}

void Switchboard::peer_up(const core::NodeId& node) {
    for (auto& shard : impl_->shards) {
        shard.loop.post([&shard, node] { shard.set_up(node, true); });
    }
}

void Switchboard::peer_lost(const core::NodeId& node) {
    for (auto& shard : impl_->shards) {
        shard.loop.post([&shard, node] { shard.set_up(node, false); });
    }
}

bool Switchboard::congested() const {
    return std::any_of(impl_->shards.begin(), impl_->shards.end(), [](const Shard& shard) {
        return shard.waiting.load(std::memory_order_relaxed) >= kWaitingMax / 2;
    });
}

void Switchboard::set_serving(core::Partition partition, bool serving) {
    impl_->homes[static_cast<std::size_t>(partition)].serving.store(serving,
                                                                    std::memory_order_relaxed);
}

bool Switchboard::serving(core::Partition partition) const {
    return impl_->homes[static_cast<std::size_t>(partition)].serving.load(
        std::memory_order_relaxed);
}

std::optional<core::Partition> Switchboard::near(std::size_t of) {
    const auto partitions = static_cast<core::Partition>(impl_->homes.size());
    auto& shard = impl_->shards[of];
    std::optional<core::Partition> same_process;
    std::optional<core::Partition> elsewhere;
    for (core::Partition i = 1; i <= partitions; ++i) {
        const core::Partition p = (shard.last_near + i) % partitions;
        const auto& route = shard.routes[static_cast<std::size_t>(p)];
        if (serving(p)) {
            if (shard_of(p) == of) return shard.last_near = p;
            if (!same_process) same_process = p;
        } else if (!elsewhere && route && route->node > 0 && shard.nodes[route->node - 1].up) {
            elsewhere = p;
        }
    }
    const auto chosen = same_process ? same_process : elsewhere;
    if (chosen) shard.last_near = *chosen;
    return chosen;
}

}  // namespace beckon::edge
