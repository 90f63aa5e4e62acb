#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The few bytes of WebSocket, HTTP/1.1 and the client protocol that a load generator needs,
/// read in place and written by appending: no allocation per message. Pure functions.
namespace beckon::bench {

enum class Opcode : std::uint8_t { text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

/// One frame of a server.
struct Frame {
    Opcode opcode{};
    bool final = true;
    std::string_view payload;
    std::size_t size = 0;  ///< header and payload
};

/// The frame at the start of `data`; nullopt if it is not complete yet.
std::optional<Frame> parse_frame(std::string_view data);

/// A client's frame. The mask is zero: legal, and it spares touching each byte (masks protect
/// proxies from scripts, RFC 6455 §10.3, and there is no script here).
void append_frame(std::string& out, Opcode opcode, std::string_view payload);

/// `"name":"value"` in a flat or nested JSON object whose strings need no unescaping (ids, URLs,
/// base64url); blanks around the colon are allowed. The first occurrence.
std::optional<std::string_view> json_text(std::string_view object, std::string_view name);

/// An HTTP reply: status and how many bytes it takes with its body.
struct HttpReply {
    int status = 0;
    bool keep_alive = true;
    std::size_t size = 0;
};

enum class ReplyState { incomplete, complete, broken };

/// Reads the reply at the start of `data`. Bodies with Content-Length or chunked.
ReplyState parse_reply(std::string_view data, HttpReply& reply);

/// A message's name as it travels inside its body: the run of the generator and a number.
struct Token {
    std::uint32_t run = 0;
    std::uint32_t sequence = 0;
    bool operator==(const Token&) const = default;
};

/// Writes the token over the first 8 bytes of an encrypted body: part of the salt, which no push
/// service reads. (Nobody decrypts these messages.)
void stamp(char* body, Token token);
/// The token from the base64url text of such a body.
std::optional<Token> read_stamp(std::string_view data);

}  // namespace beckon::bench
