#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/tokens.hpp"
#include "edge/home/session/outbox.hpp"
#include "edge/home/session/sessions.hpp"
#include "edge/protocol/closings.hpp"
#include "fold/fold.hpp"
#include "store/edge_store.hpp"

namespace beckon::edge {

/// The log topics of a home among the inputs of its fold.
inline constexpr fold::InputIndex kNotificationsInput = 0;
inline constexpr fold::InputIndex kSubscriptionsInput = 1;

/// The calls of the parts of a home to the home. On its thread.
class HomeCalls {
public:
    /// The lease is read back: the home serves. Within Leadership::turn_ended().
    virtual void began() = 0;
    /// From here on nothing is decided, published or answered: another home may do so. May come
    /// while records are replayed.
    virtual void ended(Closing closing) = 0;
    /// A decision was made outside of a turn, or a frame was put into the outbox.
    virtual void flush_or_turn() = 0;
    /// Ends a client's session.
    virtual void end(Session& session, Closing closing) = 0;
    /// Too many messages wait for the client, and the policy is to remove it.
    virtual void reset(const core::Uaid& client) = 0;

protected:
    ~HomeCalls() = default;
};

/// The dependencies that all parts of a home have in common. All of it outlives them.
struct PartContext {
    core::Partition partition;
    core::Partition partitions;
    store::PartitionStore& store;
    fold::Fold& fold;
    core::Executor& executor;
    const core::Clock& clock;
    core::Tokens& tokens;
    Sessions& sessions;
    Outbox& outbox;
    HomeCalls& home;

    /// The log's time in the partition.
    core::Timestamp log_now() const { return fold.log_clock(kNotificationsInput).now(); }
    /// Everything of `notifications` below it is folded.
    core::Offset position() const { return fold.position(kNotificationsInput); }
};

}  // namespace beckon::edge
