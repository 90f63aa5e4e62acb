#pragma once

#include "core/result.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

/// What a webhook wants beside the event: names, and expressions that select parts of it
/// (docs/webhooks.md#attachments). Pure.
namespace beckon::retry {

inline constexpr std::size_t kAttachmentsMax = 32;
inline constexpr std::size_t kAttachmentNameBytesMax = 64;
/// Of all of them together.
inline constexpr std::size_t kAttachmentsBytesMax = std::size_t{128} * 1024;
inline constexpr const char* kAttachmentsMember = "attachments";

/// Whether a webhook may have this one. Errors: invalid.
core::Result<void> check_attachment(std::string_view name, std::string_view expression);

/// The event, a JSON object, with what the expressions select in its member `attachments`. One that
/// fails stands in `attachments._errors` with the reason, and the others are there.
std::string with_attachments(const std::string& event,
                             const std::map<std::string, std::string>& wanted);

}  // namespace beckon::retry
