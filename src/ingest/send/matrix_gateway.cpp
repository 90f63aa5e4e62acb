#include "ingest/send/matrix_gateway.hpp"

#include "core/json_depth.hpp"
#include "core/json_text.hpp"
#include "ingest/api/errors.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::ingest {

namespace {

using Json = nlohmann::ordered_json;
using core::Fault;

constexpr std::size_t kDepthMax = 32;
constexpr std::string_view kSendPath = "/wpush/";

tl::unexpected<core::Error> invalid(const char* why) { return core::fail(Fault::invalid, why); }

/// The path of an endpoint URL of this service; empty: it is none.
std::string_view target_of(std::string_view pushkey, const std::vector<std::string>& origins) {
    for (const auto& origin : origins) {
        if (!pushkey.starts_with(origin)) continue;
        const auto path = pushkey.substr(origin.size());
        if (path.starts_with(kSendPath)) return path;
    }
    return {};
}

}  // namespace

core::Result<std::vector<MatrixPush>> parse_matrix(std::string_view body,
                                                   const std::vector<std::string>& origins) {
    if (core::is_nested_deeper(body, kDepthMax)) return invalid("The body is nested too deeply.");
    auto request = core::parse_ordered_json(body);
    if (!request.is_object() || !request.contains("notification") ||
        !request["notification"].is_object()) {
        return invalid("The body must be an object with an object \"notification\".");
    }
    auto& notification = request["notification"];
    const auto devices = notification.value("devices", Json{});
    if (!devices.is_array() || devices.empty() || devices.size() > kMatrixDevicesMax) {
        return invalid("notification.devices must be a list of 1 to 16 devices.");
    }
    const bool low = notification.value("prio", Json{}) == "low";
    std::vector<MatrixPush> pushes;
    for (const auto& device : devices) {
        const auto pushkey = device.is_object() ? device.value("pushkey", Json{}) : Json{};
        if (!pushkey.is_string()) return invalid("A device must have a text \"pushkey\".");
        notification["devices"] = Json::array({device});
        auto text = pushkey.get<std::string>();
        std::string target{target_of(text, origins)};
        pushes.push_back({.pushkey = std::move(text),
                          .target = std::move(target),
                          .urgency = low ? "low" : "high",
                          .body = core::json_text(request)});
    }
    return pushes;
}

void MatrixReplies::add(const std::string& pushkey, int status) {
    switch (status) {
        case 400:
        case 401:
        case 404:
        case 405:
        case 410: rejected_.push_back(pushkey); break;
        default: later_ = later_ || status == 429 || status >= 500; break;
    }
}

HttpReply MatrixReplies::reply() const {
    if (later_) return error_reply({Problem::busy, {}, 0});
    return net::json_reply(200, core::json_text(Json{{"rejected", rejected_}}));
}

HttpReply matrix_discovery() {
    return net::json_reply(200, R"({"unifiedpush":{"gateway":"matrix"}})");
}

MatrixExchange::MatrixExchange(MatrixPush push, const net::PeerAddress& peer,
                               std::function<void(int)> done)
    : push_(std::move(push)), ttl_(std::to_string(kMatrixTtlSeconds)), done_(std::move(done)) {
    request_.method = net::Method::post;
    request_.target = push_.target;
    request_.body = push_.body;
    request_.peer = peer;
    request_.headers.add(HeaderName::ttl, ttl_);
    request_.headers.add(HeaderName::urgency, push_.urgency);
    // Distributors pass the bytes on as they are, and the form of a message is that of Web Push.
    request_.headers.add(HeaderName::content_encoding, "aes128gcm");
}

}  // namespace beckon::ingest
