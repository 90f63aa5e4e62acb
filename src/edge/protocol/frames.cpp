#include "edge/protocol/frames.hpp"

#include "core/base64url.hpp"

#include <algorithm>

namespace beckon::edge {

namespace {

constexpr char kHex[] = "0123456789abcdef";
/// Names, quotes and ids of a notification with all its members.
constexpr std::size_t kNotificationFrame = 320;

bool is_plain(char c) {
    return static_cast<signed char>(c) >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

void append_escaped(std::string& out, char c) {
    if (is_plain(c)) {
        out.push_back(c);
        return;
    }
    if (c == '"' || c == '\\') {
        out.push_back('\\');
        out.push_back(c);
        return;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.append("\\u00");
    out.push_back(kHex[byte >> 4]);
    out.push_back(kHex[byte & 15]);
}

std::string status_frame(std::string_view type, const core::ChannelId& channel, int status) {
    std::string out;
    out.reserve(256);
    out.append(R"({"messageType":")").append(type).append(R"(","channelID":")");
    core::append_dashed(out, channel.bytes);
    out.append(R"(","status":)").append(std::to_string(status));
    return out;
}

void append_member(std::string& out, std::string_view name_with_colon,
                   const std::optional<std::string_view>& value) {
    if (!value) return;
    if (out.back() != '{') out.push_back(',');
    out.append(name_with_colon);
    append_json_string(out, *value);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    out.push_back('"');
    if (std::all_of(text.begin(), text.end(), is_plain)) {
        out.append(text);
    } else {
        for (const char c : text) append_escaped(out, c);
    }
    out.push_back('"');
}

void append_json_utf8(std::string& out, std::string_view text) {
    out.push_back('"');
    for (const char c : text) {
        static_cast<unsigned char>(c) < 0x80 ? append_escaped(out, c) : out.push_back(c);
    }
    out.push_back('"');
}

std::string hello_frame(const core::Uaid& uaid, std::string_view broadcasts) {
    std::string out = R"({"messageType":"hello","uaid":")";
    core::append_hex(out, uaid.bytes);
    out.append(R"(","status":200,"use_webpush":true,"broadcasts":{)").append(broadcasts);
    out.append("}}");
    return out;
}

std::string broadcast_frame(std::string_view members) {
    return std::string{R"({"messageType":"broadcast","broadcasts":{)"}.append(members).append("}}");
}

std::string register_frame(const core::ChannelId& channel, int status, std::string_view endpoint) {
    auto out = status_frame("register", channel, status);
    out.append(R"(,"pushEndpoint":)");
    append_json_string(out, endpoint);
    out.push_back('}');
    return out;
}

std::string unregister_frame(const core::ChannelId& channel, int status) {
    auto out = status_frame("unregister", channel, status);
    out.push_back('}');
    return out;
}

std::optional<ChannelFrame> answered_by(std::string_view frame) {
    constexpr std::size_t kDashedChars = 36;
    for (const bool registers : {true, false}) {
        const std::string_view start = registers ? R"({"messageType":"register","channelID":")"
                                                 : R"({"messageType":"unregister","channelID":")";
        if (!frame.starts_with(start)) continue;
        const auto channel = core::parse_dashed(frame.substr(start.size(), kDashedChars));
        if (channel) return ChannelFrame{.registers = registers, .channel = {*channel}};
    }
    return std::nullopt;
}

std::string ping_frame() { return "{}"; }

std::string notification_frame(const NotificationText& message) {
    std::string out;
    out.reserve(kNotificationFrame + message.body.size() * 4 / 3 + message.version.size() +
                message.encryption.value_or("").size() + message.crypto_key.value_or("").size());
    out.append(R"({"messageType":"notification","channelID":")");
    core::append_dashed(out, message.channel.bytes);
    out.append(R"(","version":)");
    append_json_string(out, message.version);
    if (!message.body.empty()) {
        out.append(R"(,"data":")");
        core::append_base64url(out, message.body);
        out.append(R"(","headers":{)");
        append_member(out, R"("encoding":)", message.encoding);
        append_member(out, R"("encryption":)", message.encryption);
        append_member(out, R"("crypto_key":)", message.crypto_key);
        out.push_back('}');
    }
    append_member(out, R"("reliability_id":)", message.reliability_id);
    if (message.reliability_id && message.state) {
        append_member(out, R"("reliable_state":)", core::to_string(*message.state));
    }
    out.push_back('}');
    return out;
}

bool is_notification_frame(std::string_view frame) {
    return frame.starts_with(R"({"messageType":"notification")");
}

std::string notification_frame(const core::NotificationAccepted& message) {
    return notification_frame({message.channel, message.message_id, message.encoding,
                               message.encryption, message.crypto_key, message.reliability_id,
                               message.body});
}

std::string notification_frame(const store::MessageView& message) {
    return notification_frame({message.channel, message.message_id, message.encoding,
                               message.encryption, message.crypto_key, message.reliability_id,
                               message.body, core::Milestone::retrieved});
}

}  // namespace beckon::edge
