#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::test {

/// A small blocking WebSocket client that can also misbehave: it writes any frame, whole or in
/// parts. Every read has a limit, so a test ends also when the server says nothing.
class WsClient {
public:
    enum class Tls : bool { no, yes };  ///< yes: any certificate is accepted

    /// The next event: a frame, the end of TCP, or nothing within the limit.
    struct Event {
        enum class Kind { frame, end, timeout };
        Kind kind = Kind::timeout;
        int opcode = 0;  ///< 1 text, 8 close, 9 ping, 10 pong
        std::string payload;

        bool is_text() const { return kind == Kind::frame && opcode == 1; }
        bool is_close() const { return kind == Kind::frame && opcode == 8; }
        /// Of a close frame; 0 if there is none.
        unsigned code() const;
        std::string reason() const;
    };

    /// Connects over TCP (and TLS) to 127.0.0.1; throws std::runtime_error if that fails.
    explicit WsClient(std::uint16_t port, Tls tls = Tls::no);
    ~WsClient();
    WsClient(WsClient&&) noexcept;
    WsClient& operator=(WsClient&&) noexcept;

    /// Sends the upgrade; true if the answer is 101. `head` is the whole answer.
    bool upgrade(std::string_view path = "/", std::string_view more_headers = {});
    const std::string& head() const;
    /// A plain request; returns everything up to the end of the connection.
    std::string request(std::string_view text);

    void text(std::string_view payload) { frame(1, payload); }
    /// A masked frame.
    void frame(int opcode, std::string_view payload, bool final = true);
    /// Only the head of a frame that claims this payload, then that much of it.
    void frame_head(int opcode, std::uint64_t claimed, std::string_view begun = {});
    void close(unsigned code, std::string_view reason = {});
    void raw(std::string_view bytes);

    /// The next frame (pings are answered only by the test).
    Event next(int limit_ms = 5'000);
    /// The next frame that is no ping or pong.
    Event next_message(int limit_ms = 5'000);
    /// Reads until the close frame or the end; the close frame's event, or the end.
    Event until_closed(int limit_ms = 5'000);

    /// A small one before anything is received makes a slow reader.
    void set_receive_buffer(int bytes);
    /// The subject of the server's certificate (TLS only).
    std::string certificate_subject() const;
    int fd() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::test
