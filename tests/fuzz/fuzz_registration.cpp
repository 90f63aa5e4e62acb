// Requests of the registration calls: from any body they take only text that can be written as
// JSON, and a secret that was not made here opens nothing.
#include "fuzz/conversation.hpp"
#include "ingest/api/router.hpp"
#include "ingest/registration/registration.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::ingest;
using test::require;

namespace {

constexpr net::RequestLimits kLimits{.header_bytes_max = 1'024, .body_bytes_max = 5'630};
const ServiceSettings kSettings = [] {
    ServiceSettings settings;
    settings.fcm_app_ids = {"app"};
    settings.apns_channels = {"release"};
    return settings;
}();

void judge_body(const Checked<RegistrationBody>& body) {
    if (!body) return;
    for (const auto type : {core::RouterType::fcm, core::RouterType::apns}) {
        const auto* const app = type == core::RouterType::fcm ? "app" : "release";
        const auto data = router_data(type, app, *body, kSettings);
        if (!data) continue;
        const auto read = nlohmann::json::parse(*data, nullptr, false);
        require(read.is_object() && read.contains("token"));
        require(body->token.size() >= 8);
        require(!router_data(type, "other", *body, kSettings));
    }
}

/// Takes everything that the calls take of a request.
struct Calls final : net::HttpHandler {
    void handle(net::ExchangePtr exchange) override {
        const auto& request = exchange->request();
        const auto route = find_route(request.method, request.target);
        judge_body(parse_registration(request));
        const auto channel = parse_subscription(request);
        require(!channel || channel->token.empty());
        for (const auto argument : route.arguments) {
            const auto uuid = core::parse_uuid(argument);
            if (!uuid) continue;
            const auto secret = request.headers.get(net::HeaderName::authorization).value_or("");
            require(!is_registration_secret({"key"}, core::Uaid{*uuid}, secret) ||
                    secret == registration_secret("key", core::Uaid{*uuid}));
        }
        exchange->reply({});
    }
    net::HttpReply rejection(net::Rejection) override { return {}; }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Calls calls;
    test::QueueExecutor loop;
    test::converse(calls, loop, kLimits, {reinterpret_cast<const char*>(data), size},
                   [](const auto&, const auto&) {});
    return 0;
}
