#pragma once

#include "core/result.hpp"
#include "records/broadcast.hpp"

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

/// The page with the versions of broadcasts (docs/protocol/client-protocol.md#broadcasts). Any
/// thread.
namespace beckon::edge {

/// `{"broadcasts": {id: version}}`. Errors: invalid (naming the fault); a page with one fault
/// counts in no part.
core::Result<std::vector<BroadcastSet>> parse_broadcasts(std::string_view body);

/// GET of a page over http or https, redirects followed. Blocks for some seconds at most, and no
/// longer than until `stop`. Errors: unavailable (no answer, or none with 2xx), too_large.
core::Result<std::string> fetch_page(const std::string& url, const std::stop_token& stop);

}  // namespace beckon::edge
