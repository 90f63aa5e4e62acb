#pragma once

#include "ingest/api/http.hpp"
#include "ops/health.hpp"

#include <string>
#include <string_view>

/// The monitoring routes of the public port (docs/protocol/http-api.md#monitoring).
namespace beckon::ingest {

struct HealthFacts {
    std::string_view version;
    ops::Health::Report report;
    bool view_ready = false;
    bool apns = false;
    bool fcm = false;
    bool bridged_delivery = false;  ///< somebody delivers what is accepted for the two
    std::size_t requests = 0;
};

/// 200 also when unhealthy: the body says it. Probes ask the ops port.
HttpReply health_reply(const HealthFacts& facts);
HttpReply status_reply(std::string_view version);
HttpReply version_reply(std::string_view version, std::string_view commit, std::string_view source);

}  // namespace beckon::ingest
