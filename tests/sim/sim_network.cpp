#include "sim/sim_network.hpp"

#include <algorithm>

namespace beckon::sim {

namespace {

/// How often bytes that the cut network holds back are tried again.
constexpr core::Duration kRepeatAfter = std::chrono::milliseconds{100};

const core::Error& lost() {
    static const core::Error error{core::Fault::unavailable, "the connection is lost"};
    return error;
}

}  // namespace

void SimWire::write(Side from, std::string& bytes) {
    auto& way = under_way_[from];
    const auto capacity = network_.wire_bytes_max_ - std::min(network_.wire_bytes_max_, way.size());
    const auto count = std::min(capacity, bytes.size());
    way.append(bytes, 0, count);
    bytes.erase(0, count);
    if (way.empty() || std::exchange(moving_[from], true)) return;
    network_.sim_.post_after(network_.delay(),
                             [self = shared_from_this(), from] { self->arrive(from); });
}

void SimWire::arrive(Side from) {
    const auto to = other(from);
    if (!open_[from] || !open_[to]) return;
    if (network_.is_cut(nodes_.first, nodes_.second) || !ends_[to].loop) {
        network_.sim_.post_after(kRepeatAfter,
                                 [self = shared_from_this(), from] { self->arrive(from); });
        return;
    }
    ends_[to].loop->post([self = shared_from_this(), from] { self->deliver(from); });
}

void SimWire::deliver(Side from) {
    const auto to = other(from);
    moving_[from] = false;
    if (!open_[to]) return;
    const auto bytes = std::exchange(under_way_[from], {});
    if (open_[from]) {
        ends_[from].loop->post([self = shared_from_this(), from] {
            if (self->open_[from]) self->ends_[from].writable();
        });
    }
    const auto received = ends_[to].received;  // it may close this wire
    received(bytes);
}

void SimWire::close(Side side) {
    if (!std::exchange(open_[side], false)) return;
    network_.sim_.post_after(network_.delay(),
                             [self = shared_from_this(), side] { self->lose(other(side)); });
}

void SimWire::lose(Side side) {
    if (!open_[side]) return;
    if (network_.is_cut(nodes_.first, nodes_.second)) {
        network_.sim_.post_after(kRepeatAfter,
                                 [self = shared_from_this(), side] { self->lose(side); });
        return;
    }
    if (!ends_[side].loop) {  // nobody has accepted it yet
        open_[side] = false;
        return;
    }
    ends_[side].loop->post([self = shared_from_this(), side] { self->lost_at(side); });
}

void SimWire::lost_at(Side side) {
    auto bytes = std::exchange(under_way_[other(side)], {});
    bytes.resize(network_.random_() % (bytes.size() + 1));
    if (open_[side] && !bytes.empty()) {
        const auto received = ends_[side].received;  // it may close this wire
        received(bytes);
    }
    if (!std::exchange(open_[side], false)) return;
    const auto closed = ends_[side].closed;
    closed(lost());
}

void SimWire::reset(ReceivedBy ends) {
    if (ends.caller) lose(caller);
    if (ends.called) lose(called);
}

void SimNetwork::listen(const core::NodeId& node, core::Executor& loop, Accept accept) {
    listeners_[node.text] = {&loop, std::move(accept)};
}

void SimNetwork::leave(const core::NodeId& node) {
    listeners_.erase(node.text);
    for (const auto& weak : wires_) {
        const auto wire = weak.lock();
        if (!wire || !wire->joins(node.text)) continue;
        wire->close(wire->nodes_.first == node.text ? SimWire::caller : SimWire::called);
    }
}

std::shared_ptr<SimWire> SimNetwork::connect(const core::NodeId& from, const core::NodeId& to) {
    const auto at = listeners_.find(to.text);
    if (at == listeners_.end() || is_cut(from.text, to.text) ||
        rejects_.contains({from.text, to.text})) {
        return nullptr;
    }
    std::erase_if(wires_, [](const auto& wire) { return wire.expired(); });
    auto wire = std::make_shared<SimWire>(*this, std::pair{from.text, to.text});
    wires_.push_back(wire);
    sim_.post_after(delay(), [this, to, wire] {
        const auto listener = listeners_.find(to.text);
        if (listener == listeners_.end()) return;  // its end of the wire went with it
        listener->second.loop->post([accept = listener->second.accept, wire] { accept(wire); });
    });
    return wire;
}

namespace {

std::pair<std::string, std::string> pair_of(const std::string& one, const std::string& other) {
    return {std::min(one, other), std::max(one, other)};
}

}  // namespace

void SimNetwork::cut(const std::string& one, const std::string& other, bool is_cut) {
    if (is_cut) {
        cuts_.insert(pair_of(one, other));
    } else {
        cuts_.erase(pair_of(one, other));
    }
}

void SimNetwork::reject(const std::string& one, const std::string& other, bool rejected) {
    if (!rejected) {
        rejects_.erase({one, other});
        return;
    }
    rejects_.emplace(one, other);
    for (const auto& weak : wires_) {
        if (const auto wire = weak.lock(); wire && wire->joins(one) && wire->joins(other)) {
            wire->reset({.caller = true, .called = true});
        }
    }
}

bool SimNetwork::refuses(const core::NodeId& from, const core::NodeId& to) const {
    if (is_cut(from.text, to.text)) return false;
    return !listeners_.contains(to.text) || rejects_.contains({from.text, to.text});
}

bool SimNetwork::is_cut(const std::string& one, const std::string& other) const {
    return cuts_.contains(pair_of(one, other));
}

void SimNetwork::reset_one(std::uint64_t which, SimWire::ReceivedBy ends) {
    std::erase_if(wires_, [](const auto& wire) { return wire.expired(); });
    if (wires_.empty()) return;
    if (const auto wire = wires_[which % wires_.size()].lock()) wire->reset(ends);
}

core::Duration SimNetwork::delay() {
    const auto most = static_cast<std::uint64_t>(delay_max_.count()) + 1;
    return slower_by_ + core::Duration{static_cast<core::Duration::rep>(random_() % most)};
}

}  // namespace beckon::sim
