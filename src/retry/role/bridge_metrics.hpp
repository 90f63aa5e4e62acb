#pragma once

#include "ops/metrics.hpp"
#include "retry/home/delivery_shard.hpp"

#include <map>
#include <utility>

namespace beckon::retry {

/// The metrics of the role's bridges. measure() may be called from one thread, the others from any.
class BridgeMetrics final : public BridgeObserver {
public:
    explicit BridgeMetrics(ops::Metrics& metrics);

    void attempted(core::RouterType bridge, BridgeOutcome outcome, core::Duration took) override;
    void token_renewed(core::RouterType bridge, bool good) override;
    /// Adds the counts since the last call.
    void measure(const DeliveryShard::Counts& counts);

private:
    struct OfBridge {
        std::map<BridgeOutcome, prometheus::Counter*> attempts;
        std::map<bool, prometheus::Counter*> tokens;  ///< by whether there is a new one
        prometheus::Histogram* seconds = nullptr;
        prometheus::Gauge* faulty = nullptr;
    };
    std::map<core::RouterType, OfBridge> bridges_;
    core::ByEnum<BridgedEnd, std::pair<prometheus::Counter*, std::uint64_t>> messages_;
    prometheus::Gauge& waiting_;
    prometheus::Gauge& under_way_;
};

}  // namespace beckon::retry
