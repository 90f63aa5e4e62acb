#include "edge/switchboard.hpp"

#include "edge/closings.hpp"

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

const SessionId& session_of(const ToFront& message) {
    return std::visit([](const auto& m) -> const SessionId& { return m.session; }, message);
}

/// Homes that answer each other's messages within a turn get this many rounds; then sockets have
/// their turn.
constexpr int kRoundsMax = 8;

}  // namespace

struct Switchboard::Shard final : HomePort, FrontPort {
    Shard(Impl& b, std::size_t i, ShardLoop& l) : board(b), index(i), loop(l) {}

    bool to_home(ToHome message) override;
    void to_front(ToFront message) override;
    bool end_turn();
    void take(Batch& batch);
    void flush();

    Impl& board;
    const std::size_t index;
    ShardLoop& loop;
    FrontInbox front;
    std::vector<ToHome> local;
    std::vector<ToHome> running;
    std::vector<Batch> out;         ///< by shard
    core::Partition last_near = 0;  ///< where near() went on
    /// Messages on their way to this shard, counted when they are gathered. Any thread.
    std::atomic<std::size_t> waiting{0};
};

struct Switchboard::Impl {
    struct Place {
        HomeInbox inbox;  ///< of the home's shard's thread
        std::atomic<bool> connected{false};
        std::atomic<bool> serving{false};
    };

    void hand_to_home(ToHome message) {
        auto& place = places[static_cast<std::size_t>(
            core::partition_of(uaid_of(message), static_cast<core::Partition>(places.size())))];
        if (place.inbox) place.inbox(std::move(message));
    }

    std::deque<Place> places;
    std::deque<Shard> shards;
};

bool Switchboard::Shard::to_home(ToHome message) {
    const auto partition = static_cast<std::size_t>(
        core::partition_of(uaid_of(message), static_cast<core::Partition>(board.places.size())));
    if (!board.places[partition].connected.load(std::memory_order_acquire)) return false;
    const bool must_go = std::holds_alternative<Detach>(message);
    Shard& home = board.shards[partition % board.shards.size()];
    if (&home == this) {
        if (!must_go && local.size() >= kWaitingMax) return false;
        local.push_back(std::move(message));
        return true;
    }
    if (!must_go && home.waiting.load(std::memory_order_relaxed) >= kWaitingMax) return false;
    home.waiting.fetch_add(1, std::memory_order_relaxed);
    out[home.index].to_homes.push_back(std::move(message));
    return true;
}

void Switchboard::Shard::to_front(ToFront message) {
    const SessionId& session = session_of(message);
    if (session.shard >= board.shards.size()) return;
    Shard& to = board.shards[session.shard];
    if (&to == this) {
        if (front) front(std::move(message));
        return;
    }
    if (std::holds_alternative<ToClient>(message) &&
        to.waiting.load(std::memory_order_relaxed) >= kWaitingMax) {
        message = CloseClient{.session = session,
                              .code = closing::kOverloaded.code,
                              .reason = std::string{closing::kOverloaded.reason},
                              .from_home = false};
    }
    to.waiting.fetch_add(1, std::memory_order_relaxed);
    out[to.index].to_fronts.push_back(std::move(message));
}

bool Switchboard::Shard::end_turn() {
    for (int round = 0; round < kRoundsMax && !local.empty(); ++round) {
        std::swap(local, running);
        for (auto& message : running) board.hand_to_home(std::move(message));
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
    for (auto& message : batch.to_homes) board.hand_to_home(std::move(message));
}

Switchboard::Switchboard(core::Partition partitions, const std::vector<ShardLoop*>& loops)
    : impl_(std::make_unique<Impl>()) {
    impl_->places.resize(static_cast<std::size_t>(partitions));
    for (std::size_t i = 0; i < loops.size(); ++i) {
        auto& shard = impl_->shards.emplace_back(*impl_, i, *loops[i]);
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
    auto& place = impl_->places[static_cast<std::size_t>(partition)];
    place.inbox = std::move(inbox);
    place.connected.store(static_cast<bool>(place.inbox), std::memory_order_release);
}

void Switchboard::connect_front(std::size_t shard, FrontInbox inbox) {
    impl_->shards[shard].front = std::move(inbox);
}

void Switchboard::set_serving(core::Partition partition, bool serving) {
    impl_->places[static_cast<std::size_t>(partition)].serving.store(serving,
                                                                     std::memory_order_relaxed);
}

bool Switchboard::serving(core::Partition partition) const {
    return impl_->places[static_cast<std::size_t>(partition)].serving.load(
        std::memory_order_relaxed);
}

std::optional<core::Partition> Switchboard::near(std::size_t shard) {
    const auto partitions = static_cast<core::Partition>(impl_->places.size());
    auto& last = impl_->shards[shard].last_near;
    std::optional<core::Partition> elsewhere;
    for (core::Partition i = 1; i <= partitions; ++i) {
        const core::Partition p = (last + i) % partitions;
        if (!serving(p)) continue;
        if (shard_of(p) == shard) return last = p;
        if (!elsewhere) elsewhere = p;
    }
    if (elsewhere) last = *elsewhere;
    return elsewhere;
}

}  // namespace beckon::edge
