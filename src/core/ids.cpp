#include "core/ids.hpp"

#include "core/assert.hpp"

#include <openssl/rand.h>

namespace beckon::core {

namespace {

constexpr char kHex[] = "0123456789abcdef";

int hex_value(char c, bool any_case) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (any_case && c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool is_dash_position(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

/// Reads 32 digits, with dashes at the canonical places if `dashed`.
std::optional<Bytes16> parse(std::string_view text, bool dashed, bool any_case) {
    if (text.size() != (dashed ? 36U : 32U)) return std::nullopt;
    Bytes16 out{};
    std::size_t nibble = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (dashed && is_dash_position(i)) {
            if (text[i] != '-') return std::nullopt;
            continue;
        }
        const int value = hex_value(text[i], any_case);
        if (value < 0) return std::nullopt;
        out[nibble / 2] = static_cast<std::uint8_t>((out[nibble / 2] << 4) | value);
        ++nibble;
    }
    return out;
}

void fill_random(std::uint8_t* out, int size) {
    const int ok = RAND_bytes(out, size);
    BECKON_ASSERT(ok == 1, "the system's random generator failed");
}

}  // namespace

void append_hex(std::string& out, const Bytes16& bytes) {
    for (const auto byte : bytes) {
        out.push_back(kHex[byte >> 4]);
        out.push_back(kHex[byte & 15]);
    }
}

std::string to_hex(const Bytes16& bytes) {
    std::string out;
    out.reserve(32);
    append_hex(out, bytes);
    return out;
}

void append_dashed(std::string& out, const Bytes16& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) out.push_back('-');
        out.push_back(kHex[bytes[i] >> 4]);
        out.push_back(kHex[bytes[i] & 15]);
    }
}

std::string to_dashed(const Bytes16& bytes) {
    std::string out;
    out.reserve(36);
    append_dashed(out, bytes);
    return out;
}

std::optional<Bytes16> parse_hex16(std::string_view text) { return parse(text, false, false); }

std::optional<Bytes16> parse_dashed(std::string_view text) { return parse(text, true, false); }

std::optional<Bytes16> parse_uuid(std::string_view text) {
    constexpr std::string_view kUrn = "urn:uuid:";
    if (text.size() == 32) return parse(text, false, true);
    if (text.size() == 38 && text.front() == '{' && text.back() == '}') {
        return parse(text.substr(1, 36), true, true);
    }
    if (text.starts_with(kUrn)) text.remove_prefix(kUrn.size());
    return parse(text, true, true);
}

Bytes16 random_uuid4() {
    Bytes16 out{};
    fill_random(out.data(), 16);
    out[6] = static_cast<std::uint8_t>((out[6] & 0x0f) | 0x40);
    out[8] = static_cast<std::uint8_t>((out[8] & 0x3f) | 0x80);
    return out;
}

MessageKey new_message_key(Timestamp now) {
    MessageKey key;
    const auto ms = static_cast<std::uint64_t>(now.time_since_epoch().count());
    for (int i = 0; i < 6; ++i) {
        key.bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(ms >> (40 - 8 * i));
    }
    fill_random(key.bytes.data() + 6, 10);
    key.bytes[6] = static_cast<std::uint8_t>((key.bytes[6] & 0x0f) | 0x70);
    key.bytes[8] = static_cast<std::uint8_t>((key.bytes[8] & 0x3f) | 0x80);
    return key;
}

NodeId NodeId::random() {
    std::uint8_t bytes[8];
    fill_random(bytes, sizeof bytes);
    NodeId id;
    for (const auto byte : bytes) {
        id.text.push_back(kHex[byte >> 4]);
        id.text.push_back(kHex[byte & 15]);
    }
    return id;
}

}  // namespace beckon::core
