#pragma once

#include "app/config/config.hpp"
#include "edge/home/delivery_now.hpp"
#include "inspect/trace/message_trace.hpp"

#include <optional>
#include <ostream>
#include <string>

namespace beckon::tools {

/// An edge's answer about a message that waits.
struct EdgeAnswer {
    std::optional<edge::DeliveryNow> now;
    std::string why_not;  ///< why nothing is known
};

/// `beckon message ID --names`: opens a message URL, a message id or an endpoint URL with the
/// installation's key ring, and prints the names that log lines have for it. Queries no process.
/// Returns the message, if it is one. Throws StartupError: no ring, or the ring does not open it.
std::optional<core::MessageRef> print_names(const app::Config& config, const std::string& id,
                                            std::ostream& out);

/// `beckon message ID`: also prints the message's present state: how far it has come, from the log;
/// and while it waits when it was sent, from the process at the ops port. Returns kNothingFound if
/// the log has nothing of it. Throws StartupError: also where there is no log to read.
int look_up(app::Config config, const std::string& id, std::ostream& out);

/// The text that look_up() prints below the names. `edge`: absent unless the message waits.
std::string message_text(const inspect::MessageTrace& trace, const std::optional<EdgeAnswer>& edge);

}  // namespace beckon::tools
