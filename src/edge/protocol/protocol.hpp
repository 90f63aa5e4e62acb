#pragma once

#include "core/ids.hpp"
#include "core/milestone.hpp"
#include "core/result.hpp"
#include "edge/protocol/closings.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tl/expected.hpp>

/// The frames that a client may send (docs/protocol/client-protocol.md#client-frames). One parser
/// per thread.
namespace beckon::edge {

using BroadcastList = std::vector<std::pair<std::string_view, std::string_view>>;

struct Hello {
    /// nullopt: absent, null, empty, or not a UUID. All of these ask for a new one.
    std::optional<core::Uaid> uaid;
    BroadcastList broadcasts;
    bool operator==(const Hello&) const = default;
};

struct Register {
    core::ChannelId channel;
    std::optional<std::string_view> key;  ///< as sent; not decoded yet
    bool operator==(const Register&) const = default;
};

struct Unregister {
    core::ChannelId channel;
    std::uint32_t code = 200;
    bool operator==(const Unregister&) const = default;
};

struct BroadcastSubscribe {
    BroadcastList broadcasts;
    bool operator==(const BroadcastSubscribe&) const = default;
};

struct AckUpdate {
    core::ChannelId channel;
    std::string_view version;
    std::uint16_t code = 100;
    bool operator==(const AckUpdate&) const = default;
};

struct Ack {
    std::vector<AckUpdate> updates;
    bool operator==(const Ack&) const = default;
};

struct Nack {
    std::string_view version;
    std::int32_t code = 0;
    bool operator==(const Nack&) const = default;
};

struct Ping {
    bool operator==(const Ping&) const = default;
};

/// Texts are views into the parser: valid until its next parse().
using ClientFrame = std::variant<Hello, Register, Unregister, BroadcastSubscribe, Ack, Nack, Ping>;

/// The `messageType` of each, in the order of ClientFrame.
inline constexpr std::array<std::string_view, std::variant_size_v<ClientFrame>> kCommands = {
    "hello", "register", "unregister", "broadcast_subscribe", "ack", "nack", "ping"};

/// The codes that clients send about messages and channels; unknown ones count as `other`. For
/// metrics.
inline constexpr std::array<std::string_view, 12> kAnswerCodes = {
    "ack_100",        "ack_101",        "ack_102",        "ack_other",
    "nack_301",       "nack_302",       "nack_303",       "nack_other",
    "unregister_200", "unregister_201", "unregister_202", "unregister_other"};
/// Their places in kAnswerCodes.
std::size_t answer_code(const AckUpdate& ack);
std::size_t answer_code(const Nack& nack);
std::size_t answer_code(const Unregister& unregister);

/// Why a frame is refused. Each closes the connection.
enum class FrameFault : std::uint8_t {
    not_json,  ///< or not valid UTF-8, or something behind the value
    not_an_object,
    no_message_type,  ///< an object with members, but none of that name
    unknown_type,
    missing_field,
    mistyped_field,  ///< or a number out of its range
    duplicate_field,
    bad_uuid,
    bad_channel_id,  ///< register: a UUID, but not in the lower-case dashed form; or none at all
};

/// For log lines and metric labels.
std::string_view to_string(FrameFault fault);

/// How a message ended, by the code of its client's ack or nack.
core::Milestone end_of_ack(std::uint16_t code);
core::Milestone end_of_nack(std::int32_t code);

/// How a frame with that fault ends the connection.
Closing closing_for(FrameFault fault);

class FrameParser {
public:
    FrameParser();
    ~FrameParser();
    FrameParser(FrameParser&&) noexcept;

    /// `text`: one whole text frame. Its size is the caller's limit (64 KiB).
    tl::expected<ClientFrame, FrameFault> parse(std::string_view text);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::edge
