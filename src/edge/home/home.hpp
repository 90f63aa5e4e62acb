#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/milestone.hpp"
#include "core/partition.hpp"
#include "core/tokens.hpp"
#include "edge/home/client_now.hpp"
#include "edge/home/delivery/delivery.hpp"
#include "edge/home/delivery/pending_limit.hpp"
#include "edge/home/delivery/tombstone_outbox.hpp"
#include "edge/home/registration/removals.hpp"
#include "edge/home/session/window.hpp"
#include "edge/protocol/protocol.hpp"
#include "edge/switchboard/messages.hpp"
#include "fold/fold.hpp"
#include "log/event_log.hpp"
#include "store/edge_store.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace beckon::edge {

struct HomeOptions {
    core::Partition partition = 0;
    core::Partition partitions = 1;  ///< of the log; a new UAID must hash to `partition`
    core::NodeId node;
    std::string
        endpoint_url;  ///< origin, e.g. "https://push.example.org"; URLs are <origin>/wpush/<token>
    WindowLimits window;            ///< of one client
    PendingLimit::Options pending;  ///< of one client
    std::size_t channels_per_client = 1'000;
    /// Clients that were not seen for so long are removed.
    core::Duration client_ttl = std::chrono::hours{24 * 60};
    core::Duration ping_interval_min{};  ///< between two pings (`{}`) of a client
    core::Duration delete_retention = std::chrono::hours{24 * 7};
    /// A loop that stalled for half of this trusts nothing before a new read barrier.
    core::Duration session_timeout = std::chrono::seconds{6};
};

/// The owner of one partition: folds its log topics into the store, and while it holds the lease
/// also decides, publishes and answers for every attached client.
///
/// Knows no sockets and no loop: it lives on its shard's executor and speaks in
/// edge/switchboard/messages.hpp.
///
/// Its parts: fold (the runtime), leadership (does it serve?), clients (hellos, and frames to the
/// parts), sessions (the protocol), delivery, registrations (with purges), removals, pending limit,
/// pending tombstones (with outcomes, for receipts), outbox. They share a PartContext, and ask the
/// home by HomeCalls. All their decisions leave in one place, at the end of a turn.
class Home {
public:
    /// The dependencies of a home; all of them outlive it and belong to the same thread.
    struct Context {
        log::EventLog& log;
        log::Publisher& publisher;
        FrontTransport& fronts;
        core::Executor& executor;
        const core::Clock& clock;
        core::Tokens& tokens;
        TombstonesInFlight& tombstones;  ///< of all homes that share `publisher`
        OutcomesInFlight& outcomes;      ///< likewise
        core::MilestoneSink* milestones =
            nullptr;  ///< of tracked messages; null: none are reported
        DeliveryTimes times{};
        /// Whether an owner may have a webhook for the end of its subscriptions; empty: every
        /// owner.
        std::function<bool(std::string_view owner)> gone_wanted{};
    };

    Home(HomeOptions options, Context context, std::unique_ptr<store::PartitionStore> store);
    ~Home();

    /// Start folding as a standby: decides whether the checkpoint is trusted, else clears and
    /// restores from the log's start.
    void start();

    /// The controller placed the partition here: serve as soon as caught up. `floor`: the highest
    /// epoch seen in `ownership`.
    void placed_here(core::Epoch floor);
    /// It was placed elsewhere. A home that serves goes on until it reads the lease of the next
    /// one; then its sessions are released, and it stays a standby.
    void placed_elsewhere();

    /// Before a stop: tombstones that wait for others go out.
    void flush();

    /// From a front. While the home does not serve yet, attaches wait (bounded) or are released.
    void receive(ToHome message);
    /// The link to that node is lost: its fronts attach their clients again, here or elsewhere.
    void front_lost(const core::NodeId& front);

    enum class State { starting, restoring, standby, claiming, serving };
    State state() const;

    /// What a home has counted since it was made; HomeShard adds those of homes that are gone.
    struct Counters {
        std::uint64_t delivered = 0;        ///< notification frames sent, repeated ones included
        std::uint64_t acked = 0;            ///< pending messages that their client acknowledged
        std::uint64_t messages_read = 0;    ///< waiting messages read in the store
        std::uint64_t unknown_records = 0;  ///< of a type or key form that this build does not know
        std::uint64_t refused_frames = 0;   ///< connections closed for a client's fault
        core::ByEnum<Removals::Why, std::uint64_t> removed{};  ///< clients
        /// Tombstones read while this home served.
        core::ByEnum<core::FinishReason, std::uint64_t> finished{};
        std::array<std::uint64_t, kAnswerCodes.size()> codes{};  ///< that clients gave
        std::array<std::uint64_t, kCommands.size()> commands{};  ///< well-formed ones, by kind
        Counters& operator+=(const Counters& other);
    };
    /// The state of a home, for tests and the console.
    struct Status : Counters {
        State state = State::starting;
        core::Epoch epoch = 0;
        core::Offset notifications_next = 0;
        core::Offset subscriptions_next = 0;
        std::size_t sessions = 0;
        std::size_t pending_tombstones = 0;
    };
    Status status() const;
    /// How far the fold has come, and whether it is stuck.
    fold::Progress progress() const;
    const std::optional<fold::Stuck>& stuck() const;
    /// A message of a client of this partition.
    DeliveryNow delivery_now(const core::MessageRef& message) const;
    /// A client of this partition.
    ClientNow client_now(const core::Uaid& client) const;
    /// Removes a client of this partition for an operator (docs/personal-data.md).
    void remove_client(const core::Uaid& client, std::function<void(ClientRemoval)> reply);
    /// The log's time in this partition, once it is known.
    std::optional<core::Timestamp> log_now() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::edge
