#pragma once

#include "core/result.hpp"
#include "retry/attempt/address_guard.hpp"
#include "retry/home/dispatcher.hpp"
#include "retry/webhook/directory.hpp"
#include "retry/webhook/webhook.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Webhooks as the API writes and reads them (schemas/webhooks.openapi.yaml). Pure.
namespace beckon::retry {

inline constexpr std::size_t kUrlBytesMax = 2'048;
inline constexpr std::size_t kTypesMax = 64;
inline constexpr std::size_t kTypeBytesMax = 256;
inline constexpr std::size_t kFormFieldsMax = 32;
inline constexpr std::size_t kFieldNameBytesMax = 64;
inline constexpr std::size_t kFormBytesMax = 4'096;  ///< of one field's value
inline constexpr std::size_t kDescriptionBytesMax = 512;
inline constexpr std::size_t kOriginBytesMax = 253;  ///< of a name (RFC 1035 §2.3.4)
inline constexpr std::int64_t kAtATimeMax = 64;
inline constexpr std::size_t kKeyIdBytesMax = 128;  ///< of a shared key
inline constexpr std::chrono::seconds kTimeoutMax{60};

/// Changes the fields of a webhook that the JSON object names; null restores a field's default.
/// Other fields stay, so that on a new Webhook this is its creation. Errors: invalid; the message
/// begins with the JSON path of the fault and names the allowed values.
core::Result<void> change(Webhook& webhook, std::string_view body, const AddressGuard& guard);

/// A webhook as its owner sees it: without the secrets.
std::string webhook_page(const WebhookDirectory::Entry& entry);

/// A page of webhooks: `{"webhooks": […], "next": …, "usage": {…}}`.
struct WebhooksPage {
    std::vector<std::string> webhooks;  ///< each as webhook_page() has it
    std::optional<std::string> next;    ///< for `after` of the next page
    std::optional<OwnerUsage> usage;    ///< resources of this process, of one owner's webhooks
};
std::string webhooks_page(const WebhooksPage& page);

}  // namespace beckon::retry
