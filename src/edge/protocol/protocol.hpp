#pragma once

#include "core/enum_names.hpp"
#include "core/ids.hpp"
#include "core/milestone.hpp"
#include "core/result.hpp"
#include "edge/protocol/closings.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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

struct BroadcastSubscribe {
    BroadcastList broadcasts;
    bool operator==(const BroadcastSubscribe&) const = default;
};

struct Register {
    core::ChannelId channel;
    std::optional<std::string> key;  ///< as sent; not decoded yet
    bool operator==(const Register&) const = default;
};

struct Unregister {
    core::ChannelId channel;
    std::uint32_t code = 200;
    bool operator==(const Unregister&) const = default;
};

struct AckUpdate {
    core::ChannelId channel;
    std::string version;
    std::uint16_t code = 100;
    bool operator==(const AckUpdate&) const = default;
};

struct Ack {
    std::vector<AckUpdate> updates;
    bool operator==(const Ack&) const = default;
};

struct Nack {
    std::string version;
    std::int32_t code = 0;
    bool operator==(const Nack&) const = default;
};

struct Ping {
    bool operator==(const Ping&) const = default;
};

/// A request to its home of a client that has its UAID. Its front parses the frame, once; the
/// command travels to the home, also over a link.
using ClientCommand = std::variant<Register, Unregister, Ack, Nack, Ping>;

/// The memory of a command that waits, about.
std::size_t bytes_of(const ClientCommand& command);

/// A command for the home, or a frame that the front itself answers. The texts of a Hello and a
/// BroadcastSubscribe are views into the parser: valid until its next parse().
using ClientFrame = std::variant<ClientCommand, Hello, BroadcastSubscribe>;

/// The `messageType` of each: those of ClientCommand, in its order, and the front's own.
inline constexpr std::array<std::string_view, std::variant_size_v<ClientCommand> + 2> kCommands = {
    "register", "unregister", "ack", "nack", "ping", "hello", "broadcast_subscribe"};
/// The places of the front's own in kCommands.
inline constexpr std::size_t kHelloCommand = std::variant_size_v<ClientCommand>;
inline constexpr std::size_t kBroadcastSubscribeCommand = kHelloCommand + 1;

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
inline std::string_view to_string(FrameFault fault) { return core::name_of(fault); }

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
