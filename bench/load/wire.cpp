#include "bench/load/wire.hpp"

#include "core/ascii.hpp"

#include <array>
#include <charconv>

namespace beckon::bench {

namespace {

constexpr std::size_t kStampChars = 11;  // of base64url for 8 bytes
constexpr std::size_t kNotFound = std::string_view::npos;

std::uint64_t big_endian(std::string_view bytes) {
    std::uint64_t value = 0;
    for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
    return value;
}

constexpr std::array<std::int8_t, 256> make_base64_values() {
    std::array<std::int8_t, 256> values{};
    for (auto& value : values) value = -1;
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
        values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::int8_t>(i);
    }
    return values;
}
constexpr auto kBase64Values = make_base64_values();

struct Length {
    std::size_t bytes = 0;
    bool chunked = false;
    bool valid = true;
};

void read_header(std::string_view line, HttpReply& reply, Length& length) {
    const auto colon = line.find(':');
    if (colon == kNotFound) return;
    const auto name = line.substr(0, colon);
    const auto value = core::trimmed(line.substr(colon + 1));
    if (core::equals_ignoring_case(name, "content-length")) {
        const auto [end, error] =
            std::from_chars(value.data(), value.data() + value.size(), length.bytes);
        length.valid = error == std::errc{} && end == value.data() + value.size();
    } else if (core::equals_ignoring_case(name, "transfer-encoding")) {
        length.chunked = core::equals_ignoring_case(value, "chunked");
    } else if (core::equals_ignoring_case(name, "connection")) {
        reply.keep_alive = !core::equals_ignoring_case(value, "close");
    }
}

/// Size of a chunked body at the start of `data`, its end included.
ReplyState chunked_size(std::string_view data, std::size_t& size) {
    size = 0;
    for (;;) {
        const auto line_end = data.find("\r\n", size);
        if (line_end == kNotFound) return ReplyState::incomplete;
        std::size_t chunk = 0;
        const auto [end, error] =
            std::from_chars(data.data() + size, data.data() + line_end, chunk, 16);
        if (error != std::errc{} || chunk > (1U << 24)) return ReplyState::broken;
        size = line_end + 2 + chunk + 2;
        if (size > data.size()) return ReplyState::incomplete;
        if (chunk == 0) return ReplyState::complete;
    }
}

}  // namespace

std::optional<Frame> parse_frame(std::string_view data) {
    if (data.size() < 2) return std::nullopt;
    const auto first = static_cast<unsigned char>(data[0]);
    std::uint64_t length = static_cast<unsigned char>(data[1]) & 0x7f;
    std::size_t header = 2;
    const std::size_t extended = length == 126 ? 2 : length == 127 ? 8 : 0;
    if (extended != 0) {
        if (data.size() < header + extended) return std::nullopt;
        length = big_endian(data.substr(header, extended));
        header += extended;
    }
    if (data.size() - header < length) return std::nullopt;
    return Frame{static_cast<Opcode>(first & 0x0f), (first & 0x80) != 0,
                 data.substr(header, static_cast<std::size_t>(length)),
                 header + static_cast<std::size_t>(length)};
}

void append_frame(std::string& out, Opcode opcode, std::string_view payload) {
    out.push_back(static_cast<char>(0x80 | static_cast<unsigned>(opcode)));
    constexpr unsigned kMasked = 0x80;
    if (payload.size() < 126) {
        out.push_back(static_cast<char>(kMasked | payload.size()));
    } else {
        // No frame of a client here is longer than 64 KB.
        out.push_back(static_cast<char>(kMasked | 126U));
        out.push_back(static_cast<char>(payload.size() >> 8));
        out.push_back(static_cast<char>(payload.size() & 0xff));
    }
    out.append(4, '\0');
    out.append(payload);
}

std::optional<std::string_view> json_text(std::string_view object, std::string_view name) {
    for (std::size_t at = object.find(name); at != kNotFound; at = object.find(name, at + 1)) {
        std::size_t next = at + name.size();
        if (at == 0 || object[at - 1] != '"' || next >= object.size() || object[next] != '"') {
            continue;
        }
        next = object.find_first_not_of(" \t", next + 1);
        if (next == kNotFound || object[next] != ':') continue;
        next = object.find_first_not_of(" \t", next + 1);
        if (next == kNotFound || object[next] != '"') return std::nullopt;
        const auto end = object.find('"', next + 1);
        if (end == kNotFound) return std::nullopt;
        return object.substr(next + 1, end - next - 1);
    }
    return std::nullopt;
}

ReplyState parse_reply(std::string_view data, HttpReply& reply) {
    reply = {};
    const auto head_end = data.find("\r\n\r\n");
    if (head_end == kNotFound) return ReplyState::incomplete;
    constexpr std::string_view kVersion = "HTTP/1.";
    if (!data.starts_with(kVersion) || head_end < 12) return ReplyState::broken;
    if (std::from_chars(data.data() + 9, data.data() + 12, reply.status).ec != std::errc{}) {
        return ReplyState::broken;
    }
    Length length;
    std::size_t line = data.find("\r\n") + 2;
    while (line < head_end) {
        const auto line_end = data.find("\r\n", line);
        read_header(data.substr(line, line_end - line), reply, length);
        line = line_end + 2;
    }
    if (!length.valid) return ReplyState::broken;
    const std::size_t body = head_end + 4;
    if (length.chunked) {
        const auto state = chunked_size(data.substr(body), length.bytes);
        if (state != ReplyState::complete) return state;
    }
    if (data.size() - body < length.bytes) return ReplyState::incomplete;
    reply.size = body + length.bytes;
    return ReplyState::complete;
}

void stamp(char* body, Token token) {
    const std::uint64_t value = static_cast<std::uint64_t>(token.run) << 32 | token.sequence;
    for (int i = 0; i < 8; ++i) body[i] = static_cast<char>(value >> (56 - 8 * i) & 0xff);
}

std::optional<Token> read_stamp(std::string_view data) {
    if (data.size() < kStampChars) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < kStampChars; ++i) {
        const auto bits = kBase64Values[static_cast<unsigned char>(data[i])];
        if (bits < 0) return std::nullopt;
        // 11 characters are 66 bits: the last two belong to the ninth byte.
        value = i + 1 < kStampChars ? value << 6 | static_cast<unsigned>(bits)
                                    : value << 4 | static_cast<unsigned>(bits) >> 2;
    }
    return Token{static_cast<std::uint32_t>(value >> 32), static_cast<std::uint32_t>(value)};
}

}  // namespace beckon::bench
