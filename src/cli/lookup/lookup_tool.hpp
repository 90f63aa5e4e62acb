#pragma once

#include "cli/config/config.hpp"
#include "cli/trace/message_trace.hpp"
#include "edge/home/delivery_now.hpp"

#include <optional>
#include <ostream>
#include <string>

namespace beckon::cli {

/// What an edge answers about a message that waits.
struct EdgeAnswer {
    std::optional<edge::DeliveryNow> now;
    std::string why_not;  ///< nothing is known: why
};

/// `beckon message ID --names`: opens what a message URL, a message id or an endpoint URL has
/// sealed with the installation's key ring, and prints the names that log lines have for it. Asks
/// nobody. The message, if it is one. Throws StartupError: no ring, or the ring does not open it.
std::optional<core::MessageRef> print_names(const Config& config, const std::string& id,
                                            std::ostream& out);

/// `beckon message ID`: that, and what is known of the message now: the log's word for how far it
/// has come, and while it waits that of the process at the ops port for when it was sent. Returns
/// kNothingFound if the log has nothing of it. Throws StartupError: also where there is no log to
/// read.
int look_up(Config config, const std::string& id, std::ostream& out);

/// What look_up() prints below the names. `edge`: absent unless the message waits.
std::string message_text(const MessageTrace& trace, const std::optional<EdgeAnswer>& edge);

}  // namespace beckon::cli
