#pragma once

#include "core/ids.hpp"
#include "core/milestone.hpp"
#include "records/events.hpp"
#include "store/edge_store.hpp"

#include <optional>
#include <string>
#include <string_view>

/// The frames that a client receives (docs/protocol/client-protocol.md#server-frames): each frame
/// is appended by hand into one string, since a JSON library would cost more than all the rest of a
/// delivery. Pure, any thread.
namespace beckon::edge {

/// The fixed text in place of an endpoint when `key` does not decode.
inline constexpr std::string_view kEndpointRefused = "Failed to generate endpoint";

/// The fixed text in place of an endpoint when the client has the most channels allowed.
inline constexpr std::string_view kTooManyChannels = "Too many channels";

/// The `status` of an answer to register or unregister.
inline constexpr int kStatusOk = 200;
inline constexpr int kStatusBadKey = 400;
inline constexpr int kStatusTooMany = 409;
inline constexpr int kStatusFailed = 500;

/// `broadcasts`: the members of that object.
std::string hello_frame(const core::Uaid& uaid, std::string_view broadcasts = {});
std::string broadcast_frame(std::string_view members);
std::string register_frame(const core::ChannelId& channel, int status, std::string_view endpoint);
std::string unregister_frame(const core::ChannelId& channel, int status);
std::string ping_frame();

/// A register or unregister of one channel, as a query or as its answer.
struct ChannelFrame {
    bool registers = false;  ///< false: unregisters
    core::ChannelId channel;
    bool operator==(const ChannelFrame&) const = default;
};
/// The query that `frame` answers, if register_frame() or unregister_frame() made it; nullopt: it
/// is another frame.
std::optional<ChannelFrame> answered_by(std::string_view frame);

/// The members of a notification, live or from the store.
struct NotificationText {
    const core::ChannelId& channel;
    std::string_view version;
    std::optional<std::string_view> encoding;
    std::optional<std::string_view> encryption;
    std::optional<std::string_view> crypto_key;
    std::optional<std::string_view> reliability_id;
    std::string_view body;
    /// `reliable_state` of a tracked message.
    std::optional<core::Milestone> state{};
};
/// The frame has `data` and `headers` exactly when there is a body.
std::string notification_frame(const NotificationText& message);
bool is_notification_frame(std::string_view frame);
std::string notification_frame(const core::NotificationAccepted& message);
std::string notification_frame(const store::MessageView& message);

/// Appends `text` as a JSON string with its quotes. Bytes above 0x7f are written as the code points
/// of Latin-1: header texts are bytes, and a text frame that is not UTF-8 would end the connection.
void append_json_string(std::string& out, std::string_view text);
/// As append_json_string(), for text that is known to be UTF-8, like all text of a client's frames.
void append_json_utf8(std::string& out, std::string_view text);

}  // namespace beckon::edge
