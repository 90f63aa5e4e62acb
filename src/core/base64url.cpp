#include "core/base64url.hpp"

#include <algorithm>
#include <array>

namespace beckon::core {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Two characters for each 12 bits: half the look-ups of one character for each 6.
struct PairTable {
    std::array<std::array<char, 2>, 4096> pairs{};

    constexpr PairTable() {
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            pairs[i] = {kAlphabet[i >> 6], kAlphabet[i & 63]};
        }
    }
};
constexpr PairTable kPairs;

constexpr std::uint8_t kBad = 0xff;

struct ValueTable {
    std::array<std::uint8_t, 256> values{};

    constexpr explicit ValueTable(bool both_alphabets) {
        values.fill(kBad);
        for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
            values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
        }
        if (both_alphabets) {
            values['+'] = 62;
            values['/'] = 63;
        }
    }
    constexpr std::uint32_t operator[](char c) const {
        return values[static_cast<unsigned char>(c)];
    }
};
constexpr ValueTable kUrlSafe{false};
constexpr ValueTable kEither{true};

std::string_view without_padding(std::string_view text) {
    for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
    return text;
}

std::size_t decoded_size(std::string_view text) { return text.size() * 3 / 4; }

/// Decodes unpadded text; `out` has space for decoded_size(text). False if it is not base64.
bool decode(std::string_view text, const ValueTable& table, std::uint8_t* out, bool canonical) {
    const std::size_t rest = text.size() % 4;
    if (rest == 1) return false;
    std::uint32_t bad = 0;  // collects the high bits of kBad: one branch for the whole text
    std::size_t i = 0;
    for (; i + 4 <= text.size(); i += 4) {
        const std::uint32_t a = table[text[i]];
        const std::uint32_t b = table[text[i + 1]];
        const std::uint32_t c = table[text[i + 2]];
        const std::uint32_t d = table[text[i + 3]];
        bad |= (a | b | c | d) & 0xc0U;
        const std::uint32_t bits = a << 18 | b << 12 | c << 6 | d;
        *out++ = static_cast<std::uint8_t>(bits >> 16);
        *out++ = static_cast<std::uint8_t>(bits >> 8);
        *out++ = static_cast<std::uint8_t>(bits);
    }
    if (rest >= 2) {
        const std::uint32_t a = table[text[i]];
        const std::uint32_t b = table[text[i + 1]];
        const std::uint32_t c = rest == 3 ? table[text[i + 2]] : 0;
        bad |= (a | b | c) & 0xc0U;
        const std::uint32_t unused = rest == 3 ? c & 0x03U : b & 0x0fU;
        if (canonical && unused != 0) return false;
        const std::uint32_t bits = a << 18 | b << 12 | c << 6;
        *out++ = static_cast<std::uint8_t>(bits >> 16);
        if (rest == 3) *out = static_cast<std::uint8_t>(bits >> 8);
    }
    return bad == 0;
}

std::optional<std::string> decode_to_string(std::string_view text, const ValueTable& table,
                                            bool canonical) {
    text = without_padding(text);
    std::string out(decoded_size(text), '\0');
    auto* bytes = reinterpret_cast<std::uint8_t*>(out.data());
    if (!decode(text, table, bytes, canonical)) return std::nullopt;
    return out;
}

}  // namespace

void append_base64url(std::string& out, std::string_view bytes) {
    const std::size_t full = bytes.size() / 3;
    const std::size_t rest = bytes.size() % 3;
    const std::size_t start = out.size();
    out.resize(start + full * 4 + (rest == 0 ? 0 : rest + 1));
    char* to = out.data() + start;
    const auto* from = reinterpret_cast<const unsigned char*>(bytes.data());
    const auto put = [&to](std::uint32_t twelve_bits) {
        const auto& pair = kPairs.pairs[twelve_bits];
        *to++ = pair[0];
        *to++ = pair[1];
    };
    for (std::size_t i = 0; i < full; ++i, from += 3) {
        const std::uint32_t bits = static_cast<std::uint32_t>(from[0]) << 16 |
                                   static_cast<std::uint32_t>(from[1]) << 8 | from[2];
        put(bits >> 12);
        put(bits & 0xfffU);
    }
    if (rest == 1) put(static_cast<std::uint32_t>(from[0]) << 4);
    if (rest == 2) {
        const std::uint32_t bits =
            static_cast<std::uint32_t>(from[0]) << 10 | static_cast<std::uint32_t>(from[1]) << 2;
        put(bits >> 6);
        *to = kAlphabet[bits & 63U];
    }
}

std::string base64url(std::string_view bytes) {
    std::string out;
    append_base64url(out, bytes);
    return out;
}

std::optional<std::string> parse_base64url(std::string_view text) {
    return decode_to_string(text, kUrlSafe, true);
}

std::optional<std::size_t> parse_base64url(std::string_view text, std::span<std::uint8_t> out) {
    text = without_padding(text);
    const std::size_t size = decoded_size(text);
    if (size > out.size() || !decode(text, kUrlSafe, out.data(), true)) return std::nullopt;
    return size;
}

std::optional<std::string> parse_base64_any(std::string_view text) {
    return decode_to_string(text, kEither, false);
}

std::string base64(std::string_view bytes) {
    auto text = base64url(bytes);
    std::replace(text.begin(), text.end(), '-', '+');
    std::replace(text.begin(), text.end(), '_', '/');
    return text.append((4 - text.size() % 4) % 4, '=');
}

std::string hex(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out.push_back(kDigits[byte >> 4]);
        out.push_back(kDigits[byte & 15]);
    }
    return out;
}

}  // namespace beckon::core
