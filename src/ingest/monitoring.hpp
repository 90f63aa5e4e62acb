#pragma once

#include "core/milestone.hpp"
#include "ingest/api/http.hpp"
#include "ops/health.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The monitoring routes of the public port (docs/protocol/http-api.md#monitoring).
namespace beckon::ingest {

struct HealthFacts {
    std::string_view version;
    ops::Health::Report report;
    bool view_ready = false;
    bool apns = false;
    bool fcm = false;
    bool fcm_delivered = false;  ///< a retry role delivers its messages
    bool apns_delivered = false;
    const std::vector<std::string>& tracked;  ///< names of the keys whose messages are tracked
    std::size_t requests = 0;
};

/// 200 also when unhealthy: the body has the state. Probes ask the ops port.
HttpReply health_reply(const HealthFacts& facts);
/// `{"received":3,…}`, every milestone of the original diagram, with those that ended `replaced` or
/// `deleted` among `errored`; without counts `{"error":"No data"}`.
HttpReply milestone_counts_reply(const std::optional<core::MilestoneCounts>& counts);
/// The same counts as OpenMetrics, under the reference's name; without counts `# EOF` alone.
HttpReply milestone_metrics_reply(const std::optional<core::MilestoneCounts>& counts);
HttpReply status_reply(std::string_view version);
HttpReply version_reply(std::string_view version, std::string_view commit, std::string_view source);

}  // namespace beckon::ingest
