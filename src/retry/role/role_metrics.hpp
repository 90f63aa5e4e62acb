#pragma once

#include "net/http/http_server.hpp"
#include "ops/metrics.hpp"
#include "retry/role/retry_node.hpp"

#include <array>
#include <map>
#include <string>

namespace beckon::retry {

/// The metrics of the role. replied() and the functions of HttpObserver may be called from any
/// thread, measure() from one.
class RoleMetrics final : public net::HttpObserver {
public:
    explicit RoleMetrics(ops::Metrics& metrics);

    /// Adds the node's counts since the last call.
    void measure(const RetryNode& node, const DeliveryShard::Counts& counts);
    /// The longest turn of a thread since the last call (IoLoop::take_longest_turn()).
    void turned(const std::string& thread, core::Duration longest);
    void replied(int status);

    void opened() override { connections_.Increment(); }
    void closed(net::CloseReason reason) override;
    void turned_away(net::CloseReason reason) override;
    void accept_paused() override { accept_pauses_.Increment(); }

private:
    /// A counter that follows one which may begin anew.
    struct Follower {
        prometheus::Counter* counter = nullptr;
        double unit = 1;  ///< of the metric, for each that is counted
        std::uint64_t seen = 0;
        void follow(std::uint64_t now);
    };

    prometheus::Gauge& partitions_;
    prometheus::Gauge& webhooks_;
    prometheus::Gauge& disabled_;
    prometheus::Gauge& dead_unlisted_;
    prometheus::Gauge& waiting_;
    prometheus::Gauge& under_way_;
    prometheus::Gauge& connections_;
    prometheus::Counter& accept_pauses_;
    std::array<prometheus::Counter*, 4> replies_{};  ///< 2xx to 5xx
    core::ByEnum<net::CloseReason, prometheus::Counter*> closed_;
    std::map<Outcome, Follower> attempts_;
    core::ByEnum<DeliveryEnd, Follower> deliveries_;
    core::ByEnum<EventEnd, Follower> events_;
    Follower filter_steps_;
    /// Owners by name as long as there is space, then all others as one.
    struct OfOwner {
        Follower milliseconds;
        Follower bytes;
        Follower requeued;
    };
    static constexpr std::size_t kOwnersShown = 50;
    OfOwner& of_owner(const std::string& owner);
    struct OfTier {
        prometheus::Gauge* waiting = nullptr;
        prometheus::Gauge* oldest = nullptr;
        prometheus::Gauge* overdue = nullptr;
    };
    OfTier& of_tier(int tier);
    void measure_tiers(const std::map<int, TierWatch::Waiting>& tiers);
    void measure_owners(const std::map<std::string, OwnerUsage, std::less<>>& usage);
    ops::Metrics& metrics_;
    std::map<std::string, OfOwner> owners_;
    std::map<int, OfTier> tiers_;
    std::map<std::string, prometheus::Gauge*> turns_;  ///< by thread
};

}  // namespace beckon::retry
