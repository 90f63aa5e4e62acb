#pragma once

#include "core/clock.hpp"
#include "core/enum_names.hpp"
#include "core/ids.hpp"
#include "core/record.hpp"
#include "core/result.hpp"
#include "core/tokens.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

/// The rules of an operator about senders, in `control` (docs/formats/control.md). Pure functions,
/// any thread.
namespace beckon::core {

enum class SenderKind : std::uint8_t {
    vapid,         ///< an application server; its name: SHA-256 of its VAPID key, 64 hex digits
    subscription,  ///< whoever sends to one subscription; its name: subscription_name()
    owner,         ///< the owner of events; its name: the owner's
};
inline std::string_view to_string(SenderKind kind) { return name_of(kind); }

inline constexpr std::size_t kOwnerBytesMax = 64;
/// Of events and webhooks: lower-case letters, digits, `-` and `_`, 1 to 64 of them.
bool is_owner_name(std::string_view text);

/// SHA-256 of the UAID and the channel: a rule holds nothing that names a client.
Sha256 subscription_hash(const Uaid& uaid, const ChannelId& channel);
/// The same as 64 hex digits.
std::string subscription_name(const Uaid& uaid, const ChannelId& channel);

/// Key `blocked/<kind>/<name>`: what such a sender sends is refused.
struct BlockedSender {
    SenderKind kind = SenderKind::vapid;
    std::string name{};
    bool blocked = true;  ///< false: not any more
    Timestamp since{};
    std::string why{};  ///< for people
    bool operator==(const BlockedSender&) const = default;
};

/// Key `limit/<kind>`: messages a second of each VAPID key or subscription.
struct SenderLimit {
    SenderKind kind = SenderKind::vapid;
    std::uint32_t per_second = 0;  ///< 0: no limit
    bool operator==(const SenderLimit&) const = default;
};

using SenderRule = std::variant<BlockedSender, SenderLimit>;

/// Senders that an installation blocks at a time: every endpoint has them in memory.
inline constexpr std::size_t kBlockedSendersMax = 1'000;
inline constexpr std::uint32_t kSenderLimitMax = 1'000'000;
/// Bytes of BlockedSender::why.
inline constexpr std::size_t kBlockedWhyMax = 200;

/// Errors: invalid: the name is not one of its kind, the reason is too long, owners have no limit,
/// or the limit is too high.
Result<void> check(const SenderRule& rule);

Record encode(const SenderRule& rule);
/// nullopt: another record of `control`, or one that check() refuses.
std::optional<SenderRule> decode_sender_rule(const RecordView& record);

}  // namespace beckon::core
