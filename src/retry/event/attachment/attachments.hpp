#pragma once

#include "core/result.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

/// The attachments that a webhook gets beside the event: names, and expressions that select parts
/// of the event (docs/webhooks.md#attachments). Pure.
namespace beckon::retry {

inline constexpr std::size_t kAttachmentsMax = 32;
inline constexpr std::size_t kAttachmentNameBytesMax = 64;
/// The limit of all attachments together.
inline constexpr std::size_t kAttachmentsBytesMax = std::size_t{128} * 1024;
inline constexpr const char* kAttachmentsMember = "attachments";

/// Checks an attachment of a webhook. Errors: invalid.
core::Result<void> check_attachment(std::string_view name, std::string_view expression);

/// The event, a JSON object, with the selected parts in its member `attachments`. An expression
/// that fails stands in `attachments._errors` with the reason; the other parts are there.
std::string with_attachments(const std::string& event,
                             const std::map<std::string, std::string>& wanted);

}  // namespace beckon::retry
