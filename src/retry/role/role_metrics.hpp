#pragma once

#include "net/http/http_server.hpp"
#include "ops/metrics.hpp"
#include "retry/role/retry_node.hpp"

#include <array>
#include <map>
#include <string>

namespace beckon::retry {

/// The metrics of the role and its bridges. measure() and turned() are called from one thread, all
/// others may be from any.
class RoleMetrics final : public net::HttpObserver, public BridgeObserver {
public:
    explicit RoleMetrics(ops::Metrics& metrics);

    /// Adds the node's counts since the last call.
    void measure(const RetryNode& node, const DeliveryShard::Counts& counts);
    /// The longest turn of a thread since the last call (IoLoop::take_longest_turn()).
    void turned(const std::string& thread, core::Duration longest);
    void replied(int status);

    void opened() override { connections_.Increment(); }
    void closed(net::CloseReason reason) override;
    void turned_away(net::CloseReason reason) override { closed_[reason]->Increment(); }
    void accept_paused() override { accept_pauses_.Increment(); }

    void attempted(core::RouterType bridge, BridgeOutcome outcome, core::Duration took) override;
    void token_renewed(core::RouterType bridge, bool good) override;

private:
    /// A counter that follows a count which may begin anew.
    struct Follower {
        prometheus::Counter* counter = nullptr;
        double unit = 1;  ///< of the metric, for each that is counted
        std::uint64_t seen = 0;
        void follow(std::uint64_t now);
    };
    template <class Enum>
    using Followers = core::ByEnum<Enum, Follower>;
    /// Owners by name as long as there is space, then all others as one.
    struct OfOwner {
        Follower milliseconds;
        Follower bytes;
        Follower requeued;
    };
    static constexpr std::size_t kOwnersShown = 50;
    struct OfTier {
        prometheus::Gauge* waiting = nullptr;
        prometheus::Gauge* oldest = nullptr;
        prometheus::Gauge* overdue = nullptr;
    };
    struct OfBridge {
        core::ByEnum<BridgeOutcome, prometheus::Counter*> attempts;
        std::array<prometheus::Counter*, 2> tokens{};  ///< by whether there is a new one
        prometheus::Histogram* seconds = nullptr;
        prometheus::Gauge* faulty = nullptr;
    };
    OfOwner& of_owner(const std::string& owner);
    OfTier of_tier(int tier);
    OfBridge of_bridge(core::RouterType bridge);
    void measure_owners(const std::map<std::string, OwnerUsage, std::less<>>& usage);
    void measure_tiers(const std::map<int, TierWatch::Waiting>& tiers);

    ops::Metrics& metrics_;
    prometheus::Gauge& partitions_;
    prometheus::Gauge& webhooks_;
    prometheus::Gauge& disabled_;
    prometheus::Gauge& dead_unlisted_;
    prometheus::Gauge& waiting_;
    prometheus::Gauge& under_way_;
    prometheus::Gauge& bridged_waiting_;
    prometheus::Gauge& bridged_under_way_;
    prometheus::Gauge& connections_;
    prometheus::Counter& accept_pauses_;
    std::array<prometheus::Counter*, 4> replies_{};  ///< 2xx to 5xx
    core::ByEnum<net::CloseReason, prometheus::Counter*> closed_;
    Followers<Outcome> attempts_;
    Followers<DeliveryEnd> deliveries_;
    Followers<EventEnd> events_;
    Followers<BridgedEnd> bridged_;
    Follower filter_steps_;
    std::map<std::string, OfOwner> owners_;
    std::map<int, OfTier> tiers_;
    std::map<std::string, prometheus::Gauge*> turns_;  ///< by thread
    std::map<core::RouterType, OfBridge> bridges_;     ///< constant after construction
};

}  // namespace beckon::retry
