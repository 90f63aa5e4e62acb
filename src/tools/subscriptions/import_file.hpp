#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "records/events.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

/// The lines of a file that `beckon subscriptions import` reads. Pure.
namespace beckon::tools {

struct ImportedClient {
    core::Uaid uaid;
    core::RouterType router_type = core::RouterType::webpush;
    std::optional<std::string> router_data;
    std::optional<core::Timestamp> last_seen;
    std::vector<core::ChannelId> channels;
    /// The VAPID keys that channels are bound to: SHA-256 in hex.
    std::map<core::ChannelId, std::string> vapid_sha256;
};

/// Errors: invalid (which member, and what is allowed).
core::Result<ImportedClient> parse_client(const std::string& line);

}  // namespace beckon::tools
