#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "core/record.hpp"
#include "edge/edge_options.hpp"
#include "edge/home/client_now.hpp"
#include "edge/home/clients.hpp"
#include "edge/home/delivery/delivery.hpp"
#include "edge/home/delivery/pending_limit.hpp"
#include "edge/home/delivery/tombstone_outbox.hpp"
#include "edge/home/leadership.hpp"
#include "edge/home/part_context.hpp"
#include "edge/home/registration/registrations.hpp"
#include "edge/home/registration/removals.hpp"
#include "edge/switchboard/messages.hpp"
#include "fold/fold.hpp"
#include "store/edge_store.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace beckon::edge {

/// The owner of one partition: folds its log topics into the store, and while it holds the lease
/// also decides, publishes and answers for every attached client.
///
/// Knows no sockets and no loop: it lives on its shard's executor and speaks in
/// edge/switchboard/messages.hpp.
///
/// Its parts: fold (the runtime), leadership (does it serve?), clients (hellos, and frames to the
/// parts), sessions (the protocol), delivery, registrations (with purges), removals, pending limit,
/// pending tombstones (with outcomes, for receipts), output. They share a PartContext, and ask the
/// home by HomeCalls. All their decisions leave in one place, at the end of a turn.
class Home final : private fold::State, private HomeCalls {
public:
    Home(core::Partition partition, const HomeContext& context,
         std::unique_ptr<store::PartitionStore> store);
    ~Home() override;

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

    /// The state of a home, for tests and the console.
    struct Status : HomeCounters {
        State state = State::starting;
        core::Epoch epoch = 0;
        core::Offset notifications_next = 0;
        core::Offset subscriptions_next = 0;
        std::size_t sessions = 0;
        std::size_t pending_tombstones = 0;
        std::uint64_t messages_read = 0;  ///< waiting messages read in the store
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
    // --- fold::State
    std::optional<core::Checkpoint> checkpoint(fold::InputIndex input) const override {
        return store_->checkpoint(source_of(input));
    }
    void replay(fold::InputIndex input, const core::RecordView& record) override;
    void advance(fold::InputIndex input, core::Offset next,
                 std::optional<core::Timestamp> caught_up, core::Timestamp youngest) override {
        store_->advance(source_of(input), next, caught_up, youngest);
    }
    bool dirty() const override;
    bool commit_due() const override { return store_->commit_due(); }
    core::Result<void> commit() override;
    bool dropped_batch() const override { return read_failed_; }
    core::Result<void> clear() override { return store_->clear(); }
    void turn_ended() override;
    void caught_up() override;
    void restarted(std::string_view) override { leadership_.restarted(); }

    // --- HomeCalls
    void began() override;
    void ended(Closing closing) override;
    void flush_or_turn() override;
    void end(Session& session, Closing closing) override { clients_.end(session, closing); }
    void reset(const core::Uaid& client) override {
        removals_.remove(client, RemovalReason::max_pending);
    }

    void tick();

    // --- records: a standby folds like a serving home, which alone counts the ends of messages
    static store::Source source_of(fold::InputIndex input) {
        return input == kNotificationsInput ? store::Source::notifications
                                            : store::Source::subscriptions;
    }
    void notification(const core::RecordView& record);
    void subscription(const core::RecordView& record);
    void folded(bool won) {
        if (!won) registrations_.repair_is_due();
    }
    bool is_repeated(const core::NotificationFinished& done) const;
    void count_finished(const core::NotificationFinished& done);
    void unknown(log::Topic topic, core::Offset offset, const core::Unknown& record);

    const EdgeOptions& options_;
    const std::unique_ptr<store::PartitionStore> store_;
    bool read_failed_ = false;  ///< before the last commit, which failed for it
    bool commit_now_ = false;   ///< the last commit failed, or the home does not serve any more
    /// When the changes are written; set at the end of the turn that made the first of them.
    std::optional<core::MonoTime> commit_at_{};
    core::DecodeScratch scratch_;
    HomeCounters counters_;

    fold::Fold fold_;
    Output output_;
    Sessions sessions_;
    const PartContext parts_;
    Delivery delivery_;
    TombstoneOutbox tombstone_outbox_;
    Registrations registrations_;
    Removals removals_;
    PendingLimit pending_;
    Leadership leadership_;
    Clients clients_;
    core::Lifetime lifetime_;
};

}  // namespace beckon::edge
