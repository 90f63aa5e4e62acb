#pragma once

#include "core/clock.hpp"
#include "core/enum_names.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/tokens.hpp"
#include "edge/edge_options.hpp"
#include "edge/home/session/output.hpp"
#include "edge/home/session/sessions.hpp"
#include "edge/protocol/closings.hpp"
#include "edge/protocol/protocol.hpp"
#include "edge/switchboard/messages.hpp"
#include "fold/fold.hpp"
#include "log/event_log.hpp"
#include "records/events.hpp"
#include "store/edge_store.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace prometheus {
class Histogram;
}

namespace beckon::edge {

/// The log topics of a home among the inputs of its fold.
inline constexpr fold::InputIndex kNotificationsInput = 0;
inline constexpr fold::InputIndex kSubscriptionsInput = 1;

/// How many tombstones the homes of one shard may have published without an answer. They share a
/// publisher with read barriers, leases and registers, which must not find it full.
struct TombstonesInFlight {
    static constexpr std::size_t kMax = 1'000;
    std::size_t count = 0;
};

/// The same for the outcomes of messages with a receipt.
struct OutcomesInFlight {
    /// At which a home gets no second one.
    static constexpr std::size_t kOutcomesMax = 512;
    std::size_t count = 0;
};

/// How late deliveries are. Null: not measured.
struct DeliveryTimes {
    /// From the log's append, which is a moment before the 201, to the frame, where the client was
    /// attached.
    prometheus::Histogram* append_to_frame = nullptr;
    prometheus::Histogram* frame_to_ack = nullptr;
};

/// Why a client is removed.
enum class RemovalReason : std::uint8_t {
    absent,       ///< not seen for client_ttl
    max_pending,  ///< more messages waited than max_pending, and the policy is `reset`
    erased,       ///< an operator removes it (docs/personal-data.md)
};
inline std::string_view to_string(RemovalReason reason) { return core::name_of(reason); }

/// One value for everything that a home counts.
template <class Value>
struct PerCounter {
    Value delivered{};        ///< notification frames sent, repeated ones included
    Value acked{};            ///< pending messages that their client acknowledged
    Value unknown_records{};  ///< of a type or key form that this build does not know
    Value refused_frames{};   ///< connections closed for a client's fault
    core::ByEnum<RemovalReason, Value> removed{};  ///< clients
    /// Tombstones read while this home served.
    core::ByEnum<core::FinishReason, Value> finished{};
    std::array<Value, kAnswerCodes.size()> codes{};  ///< that clients gave
    std::array<Value, kCommands.size()> commands{};  ///< well-formed ones, by kind
};
/// Calls `f` with the values of one counter after the other, of all of `counters`.
template <class F, class... Counters>
void for_each_counter(const F& f, Counters&&... counters) {
    f(counters.delivered...);
    f(counters.acked...);
    f(counters.unknown_records...);
    f(counters.refused_frames...);
    for (const auto reason : core::kValuesOf<RemovalReason>) f(counters.removed[reason]...);
    for (const auto reason : core::kValuesOf<core::FinishReason>) f(counters.finished[reason]...);
    for (std::size_t i = 0; i < kAnswerCodes.size(); ++i) f(counters.codes[i]...);
    for (std::size_t i = 0; i < kCommands.size(); ++i) f(counters.commands[i]...);
}

/// The counts of a home since it was made; HomeShard adds those of homes that are gone.
using HomeCounters = PerCounter<std::uint64_t>;
inline void add(HomeCounters& to, const HomeCounters& from) {
    for_each_counter([](std::uint64_t& sum, std::uint64_t more) { sum += more; }, to, from);
}

/// The dependencies of a home; all of them outlive it and belong to the same thread.
struct HomeContext {
    const EdgeOptions& options;
    log::EventLog& log;
    log::Publisher& publisher;
    FrontTransport& fronts;
    core::Executor& executor;
    const core::Clock& clock;
    core::Tokens& tokens;
    TombstonesInFlight& tombstones;  ///< of all homes that share `publisher`
    OutcomesInFlight& outcomes;      ///< likewise
    DeliveryTimes times{};
    /// Whether an owner may have a webhook for the end of its subscriptions; empty: every owner.
    std::function<bool(std::string_view owner)> gone_wanted{};
};

/// The calls of the parts of a home to the home. On its thread.
class HomeCalls {
public:
    /// The lease is read back: the home serves. Within Leadership::turn_ended().
    virtual void began() = 0;
    /// From here on nothing is decided, published or answered: another home may do so. May come
    /// while records are replayed.
    virtual void ended(Closing closing) = 0;
    /// A decision was made outside of a turn, or a frame was put into the output.
    virtual void flush_or_turn() = 0;
    /// Ends a client's session.
    virtual void end(Session& session, Closing closing) = 0;
    /// Too many messages wait for the client, and the policy is to remove it.
    virtual void reset(const core::Uaid& client) = 0;

protected:
    ~HomeCalls() = default;
};

/// The dependencies that all parts of a home have in common. All of it outlives them.
struct PartContext : HomeContext {
    core::Partition partition;
    store::PartitionStore& store;
    fold::Fold& fold;
    Sessions& sessions;
    Output& output;
    HomeCalls& home;
    HomeCounters& counters;

    /// The log's time in the partition.
    core::Timestamp log_now() const { return fold.log_clock(kNotificationsInput).now(); }
    /// For times that people see.
    core::Timestamp likely_log_now() const {
        return fold.log_clock(kNotificationsInput).likely_now();
    }
    /// Everything of `notifications` below it is folded.
    core::Offset position() const { return fold.position(kNotificationsInput); }
};

}  // namespace beckon::edge
