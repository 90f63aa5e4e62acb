#pragma once

#include "core/ids.hpp"
#include "core/milestone.hpp"
#include "core/partition.hpp"
#include "records/client.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::ingest {

/// The settings of an endpoint that its services read as they were given.
struct ServiceSettings {
    core::NodeId node;
    core::Partition partitions = 16;
    std::uint32_t ttl_max_s = 2'592'000;
    /// Answers POST /_matrix/push/v1/notify: homeservers push to UnifiedPush apps without a proxy.
    bool matrix_gateway = false;
    /// The bridges for which a retry role delivers messages from the log. Messages for the others
    /// are refused: no role could keep the promise of a 201.
    struct Bridges {
        bool fcm = false;
        bool apns = false;
    };
    Bridges bridges;
    std::vector<std::string> fcm_app_ids;    ///< that registrations may name
    std::vector<std::string> apns_channels;  ///< the same
    /// `type`: fcm or apns.
    bool knows_app(core::RouterType type, std::string_view app) const {
        const auto& names = type == core::RouterType::fcm ? fcm_app_ids : apns_channels;
        return std::find(names.begin(), names.end(), app) != names.end();
    }
    /// Where milestones of tracked messages are reported, and where their counts are read; they
    /// outlive the endpoint. Null: nowhere.
    core::MilestoneSink* milestones = nullptr;
    const core::MilestoneCountsSource* milestone_counts = nullptr;
    std::string version;  ///< of the build; shown by /__version__, /status and /health
    std::string commit;
    std::string source;
};

}  // namespace beckon::ingest
