#include "edge/switchboard/switchboard_part.hpp"

#include "core/contain.hpp"
#include "edge/protocol/closings.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace beckon::edge {

namespace {

/// Replaces a frame when the way to its front is full.
CloseClient overloaded(const SessionId& session) {
    return {.session = session,
            .code = closing::kOverloaded.code,
            .reason = std::string{closing::kOverloaded.reason},
            .kind = CloseClient::Kind::held};
}

/// Replaces the answer of a home whose code threw: the client connects again.
CloseClient home_failed(const SessionId& session) {
    return {.session = session,
            .code = closing::kFailed.code,
            .reason = std::string{closing::kFailed.reason},
            .kind = CloseClient::Kind::held};
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
void Switchboard::Part::post(Batch& batch) {
    const auto posted = std::make_shared<Batch>();
    core::Executor::Task task = [this, posted] { hand_out(*posted); };
    *posted = std::exchange(batch, {});
    try {
        loop.post(std::move(task));
    } catch (...) {
        batch = std::move(*posted);
        throw;
    }
}

void Switchboard::Part::hand_out(Batch& batch) {
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
        return to_front(home_failed(session));
    }
    if (std::holds_alternative<Detach>(message)) return;
    to_front(CloseClient{.session = session_of(message),
                         .code = closing::kNotServing.code,
                         .reason = std::string{closing::kNotServing.reason},
                         .kind = CloseClient::Kind::released});
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

}  // namespace beckon::edge
