// The JSON of POST and PATCH of a webhook. It is refused with a reason that can be printed, or
// makes a webhook whose record can be read again and whose texts can stand in a request.
#include "fuzz/require.hpp"
#include "retry/api/webhook_body.hpp"
#include "retry/attempt/http_request.hpp"
#include "support/record_view.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

using namespace beckon;
using namespace beckon::retry;
using beckon::test::ReadBack;
using beckon::test::require;

namespace {

const SecretBox& box() {
    static const SecretBox of_ring{std::make_shared<core::KeyRing>(core::KeyRing::generate())};
    return of_ring;
}

void check_taken(const Webhook& webhook) {
    const auto record = encode(webhook, box());
    const auto again = decode_webhook(*ReadBack{record}, box());
    require(again.has_value());
    require(again->url == webhook.url && again->types == webhook.types);
    require(again->attachments == webhook.attachments && again->shared_key == webhook.shared_key);
    HttpRequest request{.url = webhook.url, .headers = {}, .body = {}};
    if (webhook.shared_key) request.headers.push_back("Authorization: " + webhook.shared_key->id);
    for (const auto& [name, value] : webhook.form_fields) request.headers.push_back("X: " + name);
    request.headers.push_back("X: " + webhook.payload_field);
    require(unsendable(request).empty());
    const auto page = webhook_page({webhook, {}, {}});
    require(!page.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    Webhook webhook;
    webhook.id = "0123456789abcdef0123456789abcdef";
    webhook.owner = "shop";
    if (const auto taken = change(webhook, text, {})) {
        check_taken(webhook);
    } else {
        require(!taken.error().message.empty());
    }
    Webhook before;
    before.id = "0123456789abcdef0123456789abcdef";
    before.url = "https://example.org/";
    if (change(before, text, {})) check_taken(before);
    return 0;
}
