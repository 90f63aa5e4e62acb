#pragma once

#include "app/config/config.hpp"
#include "inspect/trace/message_trace.hpp"
#include "tools/running/ownership.hpp"

#include <optional>
#include <ostream>
#include <string>

namespace beckon::tools {

struct MessageOptions {
    std::string id;      ///< a message URL, id or name, a reliability id, or an endpoint URL
    bool names = false;  ///< only the names in log lines: no process is asked
    bool json = false;   ///< the trace as one JSON object
};

/// `beckon message ID` prints the names that log lines have for the message, its present state and
/// every step of its life, from the log; and for a waiting message when it was sent, from the
/// process at the ops port. Returns kNothingFound if the log has no record of it. Throws
/// StartupError: no key ring, or it does not open the id; no log to read.
int run_message(const app::Config& config, const MessageOptions& asked, std::ostream& out);

/// The message's present state, below its names. `edge`: the answer of its home, absent unless the
/// message waits.
std::string message_text(const inspect::MessageTrace& trace, const std::optional<EdgePage>& edge);

}  // namespace beckon::tools
