#pragma once

#include "core/assert.hpp"
#include "core/clock.hpp"
#include "edge/edge_options.hpp"
#include "edge/front/sockets.hpp"
#include "edge/protocol/protocol.hpp"
#include "edge/switchboard/messages.hpp"
#include "ops/metric_names.hpp"
#include "ops/metrics.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::edge {

struct Client;

/// A front's clients by session number: an index into a table plus a generation, so that finding
/// one reads two words, and no number is used twice. One thread.
class ClientTable {
public:
    std::uint64_t add(Client& client) {
        if (free_.empty()) {
            BECKON_ASSERT(slots_.size() <= kIndexMask, "more clients than the table names");
            free_.push_back(static_cast<std::uint32_t>(slots_.size()));
            slots_.emplace_back();
        }
        const std::uint32_t index = free_.back();
        free_.pop_back();
        slots_[index].client = &client;
        return slots_[index].generation << kIndexBits | index;
    }
    /// Null: that session is over.
    Client* find(std::uint64_t number) const {
        const auto index = static_cast<std::size_t>(number & kIndexMask);
        if (index >= slots_.size()) return nullptr;
        const Slot& slot = slots_[index];
        return slot.generation == number >> kIndexBits ? slot.client : nullptr;
    }
    void remove(std::uint64_t number) {
        if (!find(number)) return;
        const auto index = static_cast<std::uint32_t>(number & kIndexMask);
        slots_[index].client = nullptr;
        ++slots_[index].generation;
        free_.push_back(index);
    }
    /// Gives a client another number: messages to the old one find no client.
    std::uint64_t renumber(std::uint64_t number) {
        BECKON_ASSERT(find(number), "only a client in the table gets another number");
        const auto index = number & kIndexMask;
        return ++slots_[static_cast<std::size_t>(index)].generation << kIndexBits | index;
    }

    std::size_t size() const { return slots_.size() - free_.size(); }
    /// The first client at or after `index` in the table, which moves behind it; null at the end.
    Client* next(std::size_t& index) const {
        while (index < slots_.size()) {
            if (Client* client = slots_[index++].client) return client;
        }
        return nullptr;
    }

private:
    /// 16 million clients a front, 1.1e12 sessions a place.
    static constexpr unsigned kIndexBits = 24;
    static constexpr std::uint64_t kIndexMask = (std::uint64_t{1} << kIndexBits) - 1;

    struct Slot {
        std::uint64_t generation = 1;
        Client* client = nullptr;
    };
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
};

struct FrontMetrics {
    ops::Metrics& in;
    prometheus::Counter* frames_in = &in.counter(
        ops::metric::kEdgeFrames, "WebSocket text frames, by direction.", {{"direction", "in"}});
    prometheus::Counter* frames_out = &in.counter(
        ops::metric::kEdgeFrames, "WebSocket text frames, by direction.", {{"direction", "out"}});
    prometheus::Gauge* clients =
        &in.gauge(ops::metric::kEdgeClients, "Clients that are connected and have said hello.");
    prometheus::Counter* reattached =
        &in.counter(ops::metric::kEdgeReattached,
                    "Clients that a new home took over while their connection stayed open.");
    prometheus::Gauge* homeless =
        &in.gauge(ops::metric::kEdgeHomeless, "Connected clients that wait for a home.");
    prometheus::Counter* refused_frames =
        &in.counter(ops::metric::kEdgeRefusedFrames,
                    "Connections that were closed because a client broke the protocol.");
    prometheus::Counter* broadcast_subscribes =
        &in.counter(ops::metric::kEdgeCommands, "Frames from clients, by command.",
                    {{"command", std::string{kCommands[kBroadcastSubscribeCommand]}}});
    prometheus::Counter* broadcasts_sent =
        &in.counter(ops::metric::kEdgeBroadcastsSent,
                    "Broadcast frames sent, which notify clients of a change.");
};

/// Holds the clients of one shard (docs/design.md#shards): knows a client's UAID and nothing else,
/// parses its frames and passes the commands on to its home, and watches over hello, pings and the
/// end. No socket
/// and no loop in it; one thread, that of its shard.
///
/// A client whose home goes keeps its connection: the front attaches it where the partition lives
/// now, keeps its commands meanwhile, and repeats those without an answer. Only if no home takes it
/// within `answer_timeout` it is closed with "try again".
class Front final : public ClientEvents {
public:
    /// Chooses a UAID for a client that offers none, near this front; nullopt: no home serves.
    using NewUaid = std::function<std::optional<core::Uaid>()>;

    /// `shard`: the place of this front among those of its node.
    Front(EdgeOptions options, std::uint32_t shard, Sockets& sockets, HomeTransport& homes,
          NewUaid new_uaid, FrontMetrics metrics);

    // --- from the sockets
    void opened(Client& client) override;
    void text(Client& client, std::string_view frame) override;
    void pong(Client& client) override;
    void timer(Client& client) override;
    void gone(Client& client) override;

    // --- from the homes
    void receive(ToFront message);

    /// Other broadcasts or versions. Clients that follow a changed broadcast get a frame: the first
    /// kNotifyBudget at once, the others in the next ticks.
    void broadcasts(BroadcastsPtr now);

    // --- from the cluster
    /// The home of some partition lives elsewhere now. Clients stay where they are attached until
    /// that home lets them go, but no longer than kMoveTicks.
    void moved();
    /// Everything that was attached there is to be attached elsewhere.
    void peer_lost(NodeNumber node);
    /// Whether there is something to do for tick(), which is due every kTick then.
    bool wants_tick() const { return !homeless_.empty() || move_ends_ || notifying_; }
    void tick();
    static constexpr core::Duration kTick = std::chrono::milliseconds{20};
    static constexpr std::uint64_t kMoveTicks = 250;
    /// Clients that are attached again in one tick.
    static constexpr std::size_t kTickBudget = 4'096;
    /// Clients that are checked, and notified, at once and in one tick after a broadcast has
    /// changed.
    static constexpr std::size_t kPassBudget = 8'192;
    static constexpr std::size_t kNotifyBudget = 512;

    /// Closes up to `at_most` clients with 1001; returns how many are left. For a stop, in
    /// portions, so that they do not all reconnect at once.
    std::size_t go_away(std::size_t at_most);

    std::size_t clients() const { return table_.size(); }
    std::size_t identified() const { return identified_; }

private:
    SessionId session_of(const Client& client) const;
    void hello(Client& client, const Hello& frame);
    void subscribe(Client& client, const BroadcastSubscribe& frame);
    void command(Client& client, ClientCommand command);
    Client::Kept& kept(Client& client);
    bool attach(Client& client);
    void attach_or_wait(Client& client);
    void wait_for_home(Client& client);
    void find_home(Client& client);
    void detach(const Client& client);
    core::Duration until_ping();
    void attach_homeless();
    void follow(Client& client, const BroadcastList& named);
    void notify_some();
    bool notify(Client& client);
    std::string take_news(Client& client);
    void answer_hello(Client& client);
    bool remember(Client& client, const ClientCommand& command);
    void forget_answered(Client& client, std::string_view answer);
    void repeat_kept(Client& client);
    template <class Predicate>
    void leave_homes(const Predicate& which);
    void keep_early(Client& client, ClientCommand command);
    Sent send_home(Client& client, ClientCommand& command);
    void forward(Client& client, ClientCommand command);
    void refuse(Client& client, Closing closing);
    void end(Client& client, Closing closing, ClosedBy why);
    void leave(Client& client);
    void deliver(ToClient message);
    void deliver(const CloseClient& message);
    void deliver(const Attached& message);
    Client* find(const SessionId& session) const { return table_.find(session.number); }

    const EdgeOptions options_;
    const std::uint32_t shard_;
    Sockets& sockets_;
    HomeTransport& homes_;
    const NewUaid new_uaid_;
    const FrontMetrics metrics_;
    FrameParser parser_;
    ClientTable table_;
    std::uint64_t pings_ = 0;  ///< scheduled; spreads them
    std::size_t identified_ = 0;
    std::size_t going_ = 0;  ///< go_away(): place in the table
    std::uint64_t ticks_ = 0;
    BroadcastsPtr broadcasts_ = std::make_shared<const Broadcasts>();
    /// Place in the table of the clients to notify next.
    std::optional<std::size_t> notifying_;
    /// Session numbers of clients without a home, by the tick in which to try again. Some may be
    /// over.
    std::map<std::uint64_t, std::vector<std::uint64_t>> homeless_;
    std::optional<std::uint64_t> move_ends_;  ///< the tick in which clients leave former homes
};

}  // namespace beckon::edge
