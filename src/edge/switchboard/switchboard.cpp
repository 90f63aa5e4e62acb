#include "edge/switchboard/switchboard.hpp"

#include "edge/switchboard/switchboard_part.hpp"

#include <algorithm>
#include <utility>

namespace beckon::edge {

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

void Switchboard::arrived(std::vector<ToHome> to_homes, std::vector<ToFront> to_fronts) {
    std::vector<Batch> batches(impl_->parts.size());
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
        Part& part = impl_->parts[i];
        const auto messages = batches[i].to_homes.size() + batches[i].to_fronts.size();
        part.waiting.fetch_add(messages, std::memory_order_relaxed);
        try {
            part.post(batches[i]);
        } catch (...) {
            part.waiting.fetch_sub(messages, std::memory_order_relaxed);
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

}  // namespace beckon::edge
