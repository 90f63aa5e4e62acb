#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/tokens.hpp"
#include "inspect/trace/message_trace.hpp"
#include "log/event_log.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace beckon::inspect {

enum class NameKind : std::uint8_t { endpoint, message, client };

/// The thing that an endpoint URL, a message URL or id, or a UAID names.
struct Named {
    NameKind kind = NameKind::client;
    core::Uaid client{};
    std::optional<core::MessageKey> message = std::nullopt;
    std::optional<core::ChannelId> channel = std::nullopt;
    bool bound_to_vapid_key = false;  ///< of an endpoint
    /// Of a UAID: `subscriptions` has no such client, and the log has no message of this name.
    bool nobody = false;
};

/// Opens it with the installation's keys, without a query to any process. A token may stand there
/// without its URL. nullopt: none of these, or of another installation.
std::optional<Named> open_name(core::Tokens& tokens, const std::string& text, core::Timestamp now);

/// As open_name(); and if the text is the reliability id of a message, or the name that log lines
/// and pages have for it, that message, for which the log is searched. Such an id may be any text,
/// and such a name reads as a UAID: the UAID of a client in `subscriptions` is taken for that.
/// Errors: those of find_tracked() and find_message(), if the text is nothing else.
core::Result<std::optional<Named>> find_name(core::Tokens& tokens, log::EventLog& log,
                                             const std::string& text, const TraceOptions& options);

}  // namespace beckon::inspect
