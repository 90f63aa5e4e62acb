#pragma once

#include "core/key_ring.hpp"
#include "ingest/service.hpp"
#include "log/event_log.hpp"
#include "sim/process_life.hpp"
#include "sim/sim_tracking.hpp"
#include "store/subscription_store.hpp"
#include "support/memory_disk.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::sim {

/// Of every endpoint: where endpoint URLs begin.
inline constexpr std::string_view kOrigin = "https://sim";

/// A request of a sender.
struct SimRequest {
    std::string method;
    std::string target;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
};

/// One endpoint process without threads and sockets: its view of all subscriptions, and the service
/// over it. Destroying it is a kill.
class SimEndpoint {
public:
    struct Surroundings {
        log::EventLog& log;
        test::SimExecutor& executor;
        const core::Clock& clock;
        std::shared_ptr<const core::KeyRing> keys;
        core::Partition partitions;
        std::optional<core::Sha256> tracked;  ///< of the key whose messages are tracked
        std::filesystem::path directory;
        const test::MemoryDisk& disk;  ///< outlives it
    };

    SimEndpoint(const Surroundings& around, const core::NodeId& id);
    ~SimEndpoint();
    SimEndpoint(const SimEndpoint&) = delete;
    SimEndpoint& operator=(const SimEndpoint&) = delete;

    ProcessLife& life() { return life_; }
    bool ready() const { return view_->ready(); }
    /// `answered` runs at most once: not at all if the process dies before.
    void ask(SimRequest request, std::function<void(const net::HttpReply&)> answered);

private:
    ProcessLife life_;
    SimLoop loop_;
    ops::Health health_;
    std::unique_ptr<store::SubscriptionStore> store_;
    std::unique_ptr<SimTracking> tracking_;  ///< null: no messages are tracked
    std::unique_ptr<ingest::SubscriptionView> view_;
    std::unique_ptr<ingest::ServiceShared> shared_;
    std::unique_ptr<ingest::Service> service_;
};

}  // namespace beckon::sim
