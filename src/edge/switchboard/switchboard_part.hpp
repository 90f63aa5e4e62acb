#pragma once

#include "edge/switchboard/switchboard.hpp"

#include <atomic>
#include <cstddef>
#include <deque>
#include <optional>
#include <variant>
#include <vector>

/// The parts of the switchboard; only its own two sources include this.
namespace beckon::edge {

/// The messages of one turn of a shard for another shard.
struct Batch {
    std::vector<ToHome> to_homes;
    std::vector<ToFront> to_fronts;
    bool empty() const { return to_homes.empty() && to_fronts.empty(); }
};

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
    void post(Batch& batch);
    void hand_out(Batch& batch);
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
    std::vector<Batch> out;         ///< by shard
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

}  // namespace beckon::edge
