#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/tokens.hpp"

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
};

/// Opens it with the installation's keys, without a query to any process. A token may stand there
/// without its URL. nullopt: none of these, or of another installation.
std::optional<Named> open_name(core::Tokens& tokens, const std::string& text, core::Timestamp now);

}  // namespace beckon::inspect
