#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "core/tokens.hpp"
#include "edge/home/delivery/delivery.hpp"
#include "edge/home/part_context.hpp"
#include "edge/home/registration/gone_events.hpp"
#include "records/events.hpp"
#include "records/subscription_gone.hpp"
#include "store/edge_store.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace beckon::edge {

/// Finishes the waiting messages of channels that are gone, a bounded piece in each turn, however
/// many messages wait and however many channels go. Messages that come later are delivered or
/// expire: the two log topics have no common order.
class Purges {
public:
    /// Messages read in one turn.
    static constexpr std::size_t kBudget = 1'024;

    using Done = std::function<void()>;

    Purges(const PartContext& context, Delivery& delivery)
        : context_(context), delivery_(delivery) {}

    /// `done` runs when all messages that waited at the call are finished. Channels of one client
    /// that are added before its turn share one read.
    void begin(const core::Uaid& client, const core::ChannelId& channel, Done done);
    /// Purges all channels of a client that is gone.
    void begin_all(const core::Uaid& client, Done done);
    /// True if there is more to do.
    bool turn();
    void clear();

private:
    struct Job {
        std::set<core::ChannelId> channels;
        bool all = false;  ///< channels, whether they are named or not
        std::vector<Done> done;
    };
    Job& job_of(const core::Uaid& client);
    void start_next();
    bool read_piece();

    const PartContext& context_;
    Delivery& delivery_;
    std::deque<core::Uaid> order_;  ///< of waiting_
    std::unordered_map<core::Uaid, Job> waiting_;
    /// The one under way, if its `done` is not empty.
    Job running_;
    core::Uaid client_;
    store::DrainCursor cursor_;
};

/// The records that a serving home publishes to `subscriptions`: registers, unregisters, times at
/// which clients were last seen, and read repairs of stale writes of a former home. A client's
/// answer follows the fold: this home has read back from the log what the answer confirms.
class Registrations {
public:
    /// `last_seen` is written when it is so old.
    static constexpr core::Duration kSeenEvery = std::chrono::hours{24};
    /// Stale writes that are read from the store, and repaired, in one turn.
    static constexpr std::size_t kRepairBudget = 256;
    /// A read repair is published again if it has not been read back for so long.
    static constexpr core::Duration kRepairEvery = std::chrono::seconds{10};
    /// `last_seen` records written in one tick.
    static constexpr std::size_t kSeenBudget = 1'000;

    Registrations(const PartContext& context, Delivery& delivery);

    /// Serving begins, with a lease of that epoch.
    void begin(core::Epoch epoch);
    void stop();

    /// A register or unregister, which `session` counts as under way.
    void change(Session& session, const ChannelChange& request);
    /// Writes the tombstone of a client; `done` gets whether it is folded. Its channels go with
    /// it.
    void remove_client(const core::Uaid& client, std::function<void(bool)> done);
    /// Finishes all messages that wait for a client that is gone.
    void purge(const core::Uaid& client, Purges::Done done) {
        purges_.begin_all(client, std::move(done));
    }
    /// The client is there: writes `last_seen` if it is a day old, and again every day while it
    /// stays. A failure is no harm: the next connect writes it.
    void attached(Session& session);
    /// The session ends.
    void detached(const Session& session);
    void tick();

    /// A record with that stamp was folded. An import that brings a removed client back writes just
    /// above the removal, perhaps with the epoch of this home.
    void saw(const std::optional<core::WriteStamp>& stamp) {
        if (stamp && stamp->epoch == epoch_) sequence_ = std::max(sequence_, stamp->seq);
    }
    /// A stale write was folded: repair_stale_writes() will find it.
    void repair_is_due() { repair_due_ = true; }
    /// Left-over work at the end of a turn; true if there is more to do. Purges; and read repair:
    /// publishes the stored value over a former home's write that lost by its epoch, so that
    /// compaction keeps the stored value. This home or one before it has read that write.
    bool turn();

private:
    bool repair_stale_writes();
    void repair(const core::Uaid& client);
    void repair(const core::Uaid& client, const core::ChannelId& channel);

    /// A register or unregister under way.
    struct Change {
        ChannelChange request;
        SessionId session;
        core::Uaid client;
        std::string endpoint;
        int reports_missing = 0;
        bool failed = false;
        core::Offset last = -1;                         ///< the highest offset of its records
        std::optional<store::StoredChannel> removed{};  ///< as it was
    };
    using ChangePtr = std::shared_ptr<Change>;

    core::WriteStamp stamp() { return {epoch_, ++sequence_}; }
    core::Record client_record(const core::Uaid& client, const store::StoredClient& stored,
                               core::Timestamp last_seen);
    void add(const ChangePtr& change, const core::Uaid& client);
    bool has_too_many(Session& session, const core::ChannelId& channel);
    void count_channels(Session& session);
    void remove(const ChangePtr& change, const core::Uaid& client);
    void publish(const ChangePtr& change, core::Record record);
    void publish(core::Record record);
    void reported(const ChangePtr& change, const core::Result<log::Appended>& result);
    void folded(const ChangePtr& change);
    void answer(const Change& change);
    void publish_gone(const core::Uaid& client, const store::StoredChannel& channel,
                      core::GoneReason reason);
    void no_longer_changing(const core::Uaid& client);
    void write_last_seen(Session& session);

    const log::TopicPartition where_;
    const PartContext& context_;
    Purges purges_;
    core::Epoch epoch_ = 0;
    std::uint64_t sequence_ = 0;
    std::set<std::pair<core::MonoTime, core::Uaid>> seen_due_;
    /// The changes of each client that are under way. The store's rows of such a client may be old.
    std::unordered_map<core::Uaid, std::size_t> changing_;
    /// The registers under way, once for each.
    std::multiset<std::pair<core::Uaid, core::ChannelId>> registering_;
    bool repair_due_ = false;
    std::optional<store::StaleWrite> repair_cursor_;  ///< repaired up to here
    core::MonoTime repair_again_{};
    GoneEvents gone_events_;
    core::Lifetime lifetime_;  ///< renewed by stop(): answers are stale then
};

}  // namespace beckon::edge
