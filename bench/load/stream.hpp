#pragma once

#include "bench/load/loop.hpp"
#include "client/url.hpp"
#include "core/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <netinet/in.h>

struct ssl_ctx_st;
struct ssl_st;

namespace beckon::bench {

/// Where streams go: an address that was looked up once, and TLS if the URL wants it.
struct Target {
    sockaddr_storage address{};
    socklen_t address_size = 0;
    std::string host;
    std::shared_ptr<ssl_ctx_st> tls;  ///< null: plain

    bool loopback() const;
};

/// `unavailable` if the name cannot be looked up. Certificates are not checked: a load generator
/// measures servers that it was pointed at.
core::Result<Target> look_up(const client::Url& url);

/// A non-blocking TCP or TLS connection with the least possible work per message: one read per
/// readiness, writes straight from the caller's memory, buffers only for what is left over.
/// Lives on the loop's thread. Never destroyed while the loop handles events.
class Stream : public Watcher {
public:
    explicit Stream(Loop& loop) : loop_(loop) {}
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    /// Begins to connect; `on_open` or `on_end` follows, the latter perhaps at once. `source` is
    /// an IPv4 loopback address in network order: one address has about 28,000 context.
    void start(const Target& target, std::optional<std::uint32_t> source = std::nullopt);

    /// Sends, and keeps what the kernel does not take. False if the connection is not open.
    bool send(std::string_view data);
    /// Drops the connection. `on_end` is not called.
    void drop();

    bool open() const { return state_ == State::open; }
    bool idle() const { return state_ == State::closed; }

    void on_event(std::uint32_t events) final;

protected:
    ~Stream() { drop(); }

    virtual void on_open() = 0;
    /// Returns how many bytes were used; the rest comes again together with what follows.
    virtual std::size_t on_data(std::string_view data) = 0;
    /// The connection failed or ended; `start` may be called again.
    virtual void on_end() = 0;

private:
    enum class State : std::uint8_t { closed, connecting, securing, open };

    void end();
    void secure();
    void receive(bool ended);
    /// Bytes taken; 0: not now; -1: the connection has ended.
    long write_some(std::string_view data);
    long read_some(char* data, std::size_t size);
    void flush();
    bool received(std::string_view data);

    Loop& loop_;
    int fd_ = -1;
    State state_ = State::closed;
    ssl_st* tls_ = nullptr;
    std::string unread_;
    std::string unsent_;
};

}  // namespace beckon::bench
