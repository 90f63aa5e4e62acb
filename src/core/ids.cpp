#include "core/ids.hpp"

#include "core/assert.hpp"
#include "core/base64url.hpp"

#include <algorithm>

#include <openssl/rand.h>

namespace beckon::core {

namespace {

constexpr char kHex[] = "0123456789abcdef";

constexpr std::uint8_t kNoDigit = 0xff;

/// Value of each hex digit; ids are read and written for every record, so no branches.
struct DigitTable {
    std::array<std::uint8_t, 256> values{};

    constexpr explicit DigitTable(bool upper_case_too) {
        values.fill(kNoDigit);
        for (std::uint8_t i = 0; i < 16; ++i) {
            values[static_cast<unsigned char>(kHex[i])] = i;
            if (i >= 10 && upper_case_too) values['A' + i - 10] = i;
        }
    }
    constexpr std::uint8_t operator[](char c) const {
        return values[static_cast<unsigned char>(c)];
    }
};
constexpr DigitTable kLowerCase{false};
constexpr DigitTable kAnyCase{true};

/// In the dashed form a dash stands before the bytes 4, 6, 8 and 10.
constexpr bool dash_before(std::size_t byte) {
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

/// Reads 32 digits, with dashes at the canonical places if `dashed`.
std::optional<Bytes16> parse(std::string_view text, bool dashed, const DigitTable& table) {
    if (text.size() != (dashed ? 36U : 32U)) return std::nullopt;
    Bytes16 out;
    unsigned bad = 0;
    const char* from = text.data();
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (dashed && dash_before(i)) bad |= *from++ != '-' ? 0xf0U : 0U;
        const unsigned high = table[*from++];
        const unsigned low = table[*from++];
        bad |= high | low;
        out[i] = static_cast<std::uint8_t>(high << 4 | low);
    }
    if ((bad & 0xf0U) != 0) return std::nullopt;
    return out;
}

/// Random bytes of one thread, taken from the generator many at a time: its price is that of a
/// call, some 0.8 µs, and a message key needs ten of them.
class RandomBytes {
public:
    void take(std::uint8_t* out, std::size_t size) {
        if (left_ < size) {
            const int ok = RAND_bytes(bytes_.data(), static_cast<int>(bytes_.size()));
            BECKON_ASSERT(ok == 1, "the system's random generator failed");
            left_ = bytes_.size();
        }
        left_ -= size;
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(left_), size, out);
    }
    void forget() { left_ = 0; }

private:
    std::array<std::uint8_t, 1'024> bytes_;
    std::size_t left_ = 0;
};

RandomBytes& random_bytes() {
    thread_local RandomBytes bytes;
    return bytes;
}
void fill_random(std::uint8_t* out, std::size_t size) { random_bytes().take(out, size); }

}  // namespace

std::array<char, 32> hex_of(const Bytes16& bytes) {
    std::array<char, 32> hex;
    char* to = hex.data();
    for (const auto byte : bytes) {
        *to++ = kHex[byte >> 4];
        *to++ = kHex[byte & 15];
    }
    return hex;
}

void append_hex(std::string& out, const Bytes16& bytes) {
    const auto hex = hex_of(bytes);
    out.append(hex.data(), hex.size());
}

void append_dashed(std::string& out, const Bytes16& bytes) {
    const auto hex = hex_of(bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (dash_before(i)) out.push_back('-');
        out.append(hex.data() + 2 * i, 2);
    }
}

std::string to_hex(const Bytes16& bytes) {
    std::string out;
    append_hex(out, bytes);
    return out;
}

std::string to_dashed(const Bytes16& bytes) {
    std::string out;
    append_dashed(out, bytes);
    return out;
}

std::optional<Bytes16> parse_hex16(std::string_view text) { return parse(text, false, kLowerCase); }

std::optional<Bytes16> parse_dashed(std::string_view text) { return parse(text, true, kLowerCase); }

std::optional<Bytes16> parse_uuid(std::string_view text) {
    constexpr std::string_view kUrn = "urn:uuid:";
    if (text.size() == 32) return parse(text, false, kAnyCase);
    if (text.size() == 38 && text.front() == '{' && text.back() == '}') {
        return parse(text.substr(1, 36), true, kAnyCase);
    }
    const bool urn = text.size() > kUrn.size() &&
                     std::equal(kUrn.begin(), kUrn.end(), text.begin(),
                                [](char a, char b) { return a == (b | (b >= 'A' ? 0x20 : 0)); });
    if (urn) text.remove_prefix(kUrn.size());
    return parse(text, true, kAnyCase);
}

Bytes16 random_uuid4() {
    Bytes16 out{};
    fill_random(out.data(), 16);
    out[6] = static_cast<std::uint8_t>((out[6] & 0x0f) | 0x40);
    out[8] = static_cast<std::uint8_t>((out[8] & 0x3f) | 0x80);
    return out;
}

void forget_random_bytes() { random_bytes().forget(); }

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
    return {hex({reinterpret_cast<const char*>(bytes), sizeof bytes})};
}

}  // namespace beckon::core
