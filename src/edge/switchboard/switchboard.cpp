#include "edge/switchboard/switchboard.hpp"

#include "core/assert.hpp"
#include "core/contain.hpp"
#include "edge/protocol/closings.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace beckon::edge {

inline const core::Uaid& uaid_of(const ToHome& message) {
    return std::visit([](const auto& m) -> const core::Uaid& { return m.uaid; }, message);
}

template <class Message>
const SessionId& session_of(const Message& message) {
    return std::visit([](const auto& m) -> const SessionId& { return m.session; }, message);
}

/// The switchboard on one shard; on that shard's thread unless a comment names another.
struct Switchboard::Part final : HomeTransport, FrontTransport {
    Part(Impl& b, std::size_t i, Loop& l, std::size_t partitions)
        : board(b), index(i), loop(l), routes(partitions, NodeNumber{}) {}

    // --- HomeTransport: where the fronts of the shard send
    std::optional<NodeNumber> home_of(const core::Uaid& uaid) const override;
    Sent to_home(NodeNumber node, ToHome&& message) override;
    // --- FrontTransport: where its homes send
    void to_front(ToFront message) override;

    /// At the end of a turn: sends the collected messages. True if more came meanwhile.
    bool end_turn();
    /// From any thread, counted in `waiting`.
    void post(Messages& batch);
    void hand_out(Messages& batch);
    void flush();
    Sent to_home_here(ToHome&& message);
    void to_front_elsewhere(const core::NodeId& node, ToFront&& message);
    void hand_to_home(ToHome&& message);

    NodeNumber number_of(const core::NodeId& node);
    void route(std::size_t partition, const core::NodeId& home);
    void set_up(const core::NodeId& node, bool up);

    Impl& board;
    const std::size_t index;
    Loop& loop;
    FrontHandler front;
    std::vector<Listener> listeners;
    std::vector<ToHome> local;
    std::vector<ToHome> running;
    std::vector<Messages> out;      ///< by shard
    bool sent_to_nodes = false;     ///< in this turn
    core::Partition last_near = 0;  ///< where near() went on

    /// Other nodes by NodeNumber::value, from 1 on; each that was ever seen keeps its number.
    struct Node {
        core::NodeId id;
        bool up = false;  ///< its link
    };
    std::vector<Node> nodes;
    std::vector<std::optional<NodeNumber>> routes;  ///< by partition

    bool is_full() const;
    /// Messages on their way to this shard, counted when they are collected. Any thread.
    std::atomic<std::size_t> waiting{0};
};

struct Switchboard::Impl {
    struct Home {
        HomeHandler handler;  ///< of the home's shard's thread
        std::atomic<bool> connected{false};
        std::atomic<bool> serving{false};
    };

    std::size_t partition_of(const core::Uaid& uaid) const {
        return static_cast<std::size_t>(
            core::partition_of(uaid, static_cast<core::Partition>(homes.size())));
    }

    std::deque<Home> homes;                 ///< by partition
    std::deque<Part> parts;                 ///< by shard
    std::size_t waiting_max = kWaitingMax;  ///< constant
    core::NodeId self;                      ///< constant once the loops run
    NodeTransport* links = nullptr;         ///< constant once the loops run
};

inline bool Switchboard::Part::is_full() const {
    return waiting.load(std::memory_order_relaxed) >= board.waiting_max;
}

namespace {

/// Replaces a frame when the way to its front is full.
CloseClient overloaded(const SessionId& session) {
    return close_client(session, closing::kOverloaded, CloseClient::Kind::held);
}

/// Homes that answer each other's messages within a turn get this many rounds; then sockets have
/// their turn.
constexpr int kRoundsMax = 8;

}  // namespace

std::optional<NodeNumber> Switchboard::Part::home_of(const core::Uaid& uaid) const {
    return routes[board.partition_of(uaid)];
}

Sent Switchboard::Part::to_home(NodeNumber node, ToHome&& message) {
    if (node.value == 0) return to_home_here(std::move(message));
    if (!board.links || node.value > nodes.size()) return Sent::away;
    sent_to_nodes = true;
    return board.links->to_home(nodes[node.value - 1].id, message);
}

Sent Switchboard::Part::to_home_here(ToHome&& message) {
    const auto partition = board.partition_of(uaid_of(message));
    if (!board.homes[partition].connected.load(std::memory_order_acquire)) return Sent::away;
    const bool must_go = std::holds_alternative<Detach>(message);
    Part& home = board.parts[partition % board.parts.size()];
    if (&home == this) {
        if (!must_go && local.size() >= board.waiting_max) return Sent::full;
        local.push_back(std::move(message));
        return Sent::yes;
    }
    if (!must_go && home.is_full()) return Sent::full;
    out[home.index].to_homes.push_back(std::move(message));
    home.waiting.fetch_add(1, std::memory_order_relaxed);
    return Sent::yes;
}

void Switchboard::Part::to_front(ToFront message) {
    const SessionId& session = session_of(message);
    if (board.links && session.front != board.self) {
        return to_front_elsewhere(core::NodeId{session.front}, std::move(message));
    }
    if (session.shard >= board.parts.size()) return;
    Part& to = board.parts[session.shard];
    if (&to == this) {
        if (front) front(std::move(message));
        return;
    }
    if (std::holds_alternative<ToClient>(message) && to.is_full()) message = overloaded(session);
    out[to.index].to_fronts.push_back(std::move(message));
    to.waiting.fetch_add(1, std::memory_order_relaxed);
}

/// If the link is down, the homes are notified of its loss, and forget the sessions.
void Switchboard::Part::to_front_elsewhere(const core::NodeId& node, ToFront&& message) {
    sent_to_nodes = true;
    if (board.links->to_front(node, message) != Sent::full) return;
    board.links->to_front(node, overloaded(session_of(message)));
}

bool Switchboard::Part::end_turn() {
    for (int round = 0; round < kRoundsMax && !local.empty(); ++round) {
        std::swap(local, running);
        for (auto& message : running) hand_to_home(std::move(message));
        running.clear();
    }
    flush();
    return !local.empty();
}

void Switchboard::Part::flush() {
    for (std::size_t to = 0; to < out.size(); ++to) {
        if (out[to].empty()) continue;
        board.parts[to].post(out[to]);
    }
    if (std::exchange(sent_to_nodes, false)) board.links->flush();
}

/// Takes the batch, unless this throws.
void Switchboard::Part::post(Messages& batch) {
    const auto posted = std::make_shared<Messages>();
    core::Executor::Task task = [this, posted] { hand_out(*posted); };
    *posted = std::exchange(batch, {});
    try {
        loop.post(std::move(task));
    } catch (...) {
        batch = std::move(*posted);
        throw;
    }
}

void Switchboard::Part::hand_out(Messages& batch) {
    waiting.fetch_sub(batch.to_homes.size() + batch.to_fronts.size(), std::memory_order_relaxed);
    for (auto& message : batch.to_fronts) {
        if (front) core::contain("edge front", [&] { front(std::move(message)); });
    }
    for (auto& message : batch.to_homes) hand_to_home(std::move(message));
}

/// A front that does not know yet that the home has gone is notified.
void Switchboard::Part::hand_to_home(ToHome&& message) {
    auto& home = board.homes[board.partition_of(uaid_of(message))];
    if (home.handler) {
        const auto session = session_of(message);
        if (core::contain("edge home", [&] { home.handler(std::move(message)); })) return;
        // The client connects again.
        return to_front(close_client(session, closing::kFailed, CloseClient::Kind::held));
    }
    if (std::holds_alternative<Detach>(message)) return;
    to_front(close_client(session_of(message), closing::kNotServing, CloseClient::Kind::released));
}

NodeNumber Switchboard::Part::number_of(const core::NodeId& node) {
    if (node == board.self) return {};
    const auto known =
        std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.id == node; });
    const auto at = static_cast<std::uint32_t>(known - nodes.begin());
    if (known == nodes.end()) nodes.push_back({.id = node});
    return {.value = at + 1};
}

void Switchboard::Part::route(std::size_t partition, const core::NodeId& home) {
    const auto number = number_of(home);
    if (routes[partition] == number) return;
    routes[partition] = number;
    for (const auto& listener : listeners) {
        if (listener.moved) listener.moved(static_cast<core::Partition>(partition));
    }
}

void Switchboard::Part::set_up(const core::NodeId& node, bool up) {
    const auto number = number_of(node);
    nodes[number.value - 1].up = up;
    if (up) return;
    for (const auto& listener : listeners) {
        if (listener.peer_lost) listener.peer_lost(number, node);
    }
}

Switchboard::Switchboard(core::Partition partitions, const std::vector<Loop*>& loops,
                         std::size_t waiting_max)
    : impl_(std::make_unique<Impl>()) {
    impl_->waiting_max = waiting_max;
    impl_->homes.resize(static_cast<std::size_t>(partitions));
    for (std::size_t i = 0; i < loops.size(); ++i) {
        auto& part = impl_->parts.emplace_back(*impl_, i, *loops[i], impl_->homes.size());
        part.out.resize(loops.size());
        loops[i]->at_turn_end([&part] { return part.end_turn(); });
    }
}

Switchboard::~Switchboard() = default;

std::size_t Switchboard::shard_of(core::Partition partition) const {
    return static_cast<std::size_t>(partition) % impl_->parts.size();
}

HomeTransport& Switchboard::homes(std::size_t shard) { return impl_->parts[shard]; }
FrontTransport& Switchboard::fronts(std::size_t shard) { return impl_->parts[shard]; }

void Switchboard::connect_home(core::Partition partition, HomeHandler handler) {
    auto& home = impl_->homes[static_cast<std::size_t>(partition)];
    home.handler = std::move(handler);
    home.connected.store(static_cast<bool>(home.handler), std::memory_order_release);
}

void Switchboard::connect_front(std::size_t shard, FrontHandler handler) {
    impl_->parts[shard].front = std::move(handler);
}

void Switchboard::listen(std::size_t shard, Listener listener) {
    impl_->parts[shard].listeners.push_back(std::move(listener));
}

void Switchboard::connect_links(core::NodeId self, NodeTransport& links) {
    impl_->self = std::move(self);
    impl_->links = &links;
    for (auto& part : impl_->parts) {
        std::fill(part.routes.begin(), part.routes.end(), std::nullopt);
    }
}

void Switchboard::route(core::Partition partition, const core::NodeId& home) {
    if (!impl_->links) return;
    for (auto& part : impl_->parts) {
        part.loop.post(
            [&part, partition, home] { part.route(static_cast<std::size_t>(partition), home); });
    }
}

void Switchboard::arrived(Messages messages) {
    std::vector<Messages> batches(impl_->parts.size());
    for (auto& message : messages.to_homes) {
        const auto shard = impl_->partition_of(uaid_of(message)) % batches.size();
        batches[shard].to_homes.push_back(std::move(message));
    }
    for (auto& message : messages.to_fronts) {
        const std::size_t shard = session_of(message).shard;
        if (shard < batches.size()) batches[shard].to_fronts.push_back(std::move(message));
    }
    for (std::size_t i = 0; i < batches.size(); ++i) {
        if (batches[i].empty()) continue;
        Part& part = impl_->parts[i];
        const auto count = batches[i].to_homes.size() + batches[i].to_fronts.size();
        part.waiting.fetch_add(count, std::memory_order_relaxed);
        try {
            part.post(batches[i]);
        } catch (...) {
            part.waiting.fetch_sub(count, std::memory_order_relaxed);
            throw;
        }
    }
}

void Switchboard::peer_up(const core::NodeId& node) {
    for (auto& part : impl_->parts) {
        part.loop.post([&part, node] { part.set_up(node, true); });
    }
}

void Switchboard::peer_lost(const core::NodeId& node) {
    for (auto& part : impl_->parts) {
        part.loop.post([&part, node] { part.set_up(node, false); });
    }
}

bool Switchboard::congested() const {
    return std::any_of(impl_->parts.begin(), impl_->parts.end(), [this](const Part& part) {
        return part.waiting.load(std::memory_order_relaxed) >= impl_->waiting_max / 2;
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
    auto& part = impl_->parts[of];
    std::optional<core::Partition> same_process;
    std::optional<core::Partition> elsewhere;
    for (core::Partition i = 1; i <= partitions; ++i) {
        const core::Partition p = (part.last_near + i) % partitions;
        const auto& route = part.routes[static_cast<std::size_t>(p)];
        if (serving(p)) {
            if (shard_of(p) == of) return part.last_near = p;
            if (!same_process) same_process = p;
        } else if (!elsewhere && route && route->value > 0 && part.nodes[route->value - 1].up) {
            elsewhere = p;
        }
    }
    const auto chosen = same_process ? same_process : elsewhere;
    if (chosen) part.last_near = *chosen;
    return chosen;
}

core::Uaid new_uaid_in(core::Partition partition, core::Partition partitions) {
    BECKON_ASSERT(partition >= 0 && partition < partitions, "a partition is below their number");
    core::Uaid uaid{core::random_uuid4()};
    // The last four bytes count up from a random start: one draw from the generator is enough, and
    // the other 90 random bits stay as drawn.
    std::uint32_t tail = 0;
    std::memcpy(&tail, uaid.bytes.data() + 12, sizeof tail);
    while (core::partition_of(uaid, partitions) != partition) {
        ++tail;
        std::memcpy(uaid.bytes.data() + 12, &tail, sizeof tail);
    }
    return uaid;
}

}  // namespace beckon::edge
