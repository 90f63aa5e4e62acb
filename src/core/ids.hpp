#pragma once

#include "core/clock.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::core {

using Bytes16 = std::array<std::uint8_t, 16>;

/// 16 bytes with a meaning: Uaid, ChannelId and MessageKey cannot be mixed up.
template <class Tag>
struct Id16 {
    Bytes16 bytes{};

    auto operator<=>(const Id16&) const = default;
};

using Uaid = Id16<struct UaidTag>;              ///< a client; UUIDv4
using ChannelId = Id16<struct ChannelTag>;      ///< a client's subscription
using MessageKey = Id16<struct MessageKeyTag>;  ///< one message in the log; UUIDv7

/// 32 lower-case hex digits.
std::string to_hex(const Bytes16& bytes);
std::array<char, 32> hex_of(const Bytes16& bytes);
/// Appends the same without an allocation of its own.
void append_hex(std::string& out, const Bytes16& bytes);
/// 36 characters, lower case, dashed.
std::string to_dashed(const Bytes16& bytes);
void append_dashed(std::string& out, const Bytes16& bytes);

template <class Tag>
std::string to_hex(const Id16<Tag>& id) {
    return to_hex(id.bytes);
}
template <class Tag>
std::string to_dashed(const Id16<Tag>& id) {
    return to_dashed(id.bytes);
}

/// Exactly 32 hex digits, lower case only (log keys).
std::optional<Bytes16> parse_hex16(std::string_view text);
/// Exactly the canonical 36-character lower-case dashed form.
std::optional<Bytes16> parse_dashed(std::string_view text);
/// The four notations of docs/formats/tokens.md#uuid-notations, in any case.
std::optional<Bytes16> parse_uuid(std::string_view text);

/// Random UUIDv4 from OpenSSL's generator; thread-safe.
Bytes16 random_uuid4();
/// Time-ordered UUIDv7 (RFC 9562): the time sorts, the rest is random; thread-safe.
MessageKey new_message_key(Timestamp now);
/// Forgets the random bytes that this thread has taken in advance, so that its next id follows from
/// the generator as it is now: for a simulation that has seeded it.
void forget_random_bytes();

/// A process: 64 random bits as 16 hex digits, new at each start. Also Kafka's client.id.
struct NodeId {
    std::string text;

    static NodeId random();
    auto operator<=>(const NodeId&) const = default;
};

/// A log offset, and the number of the next record to read when it is a position.
using Offset = std::int64_t;
/// Of a lease; each take-over has a higher one.
using Epoch = std::uint64_t;

}  // namespace beckon::core

template <class Tag>
struct std::hash<beckon::core::Id16<Tag>> {
    std::size_t operator()(const beckon::core::Id16<Tag>& id) const noexcept {
        std::uint64_t a;
        std::uint64_t b;
        __builtin_memcpy(&a, id.bytes.data(), 8);
        __builtin_memcpy(&b, id.bytes.data() + 8, 8);
        return static_cast<std::size_t>(a ^ (b * 0x9e3779b97f4a7c15ULL));
    }
};
