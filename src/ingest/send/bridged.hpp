#pragma once

#include "core/record.hpp"
#include "ingest/api/errors.hpp"
#include "ingest/call/shared.hpp"
#include "records/events.hpp"

#include <string_view>

namespace beckon::ingest {

/// Step 14 for a bridged client: the delivery for the role retry, if a retry role delivers for its
/// bridge. Failures in this order: not_bridged, no_such_subscription (no token), unknown_app_id or
/// unknown_channel, body_too_large. Pure.
Checked<core::Record> bridged_record(const core::NotificationAccepted& event, core::RouterType type,
                                     std::string_view router_data, const ServiceConfig& config);

}  // namespace beckon::ingest
