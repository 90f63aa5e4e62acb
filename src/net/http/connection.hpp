#pragma once

#include "core/lifetime.hpp"
#include "net/http/connection_set.hpp"
#include "net/http/http_message.hpp"
#include "net/proxy_header.hpp"
#include "net/tls.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct ssl_st;

namespace beckon::net {

/// Bytes of a non-blocking socket, with or without TLS on it. Reading and writing never wait: they
/// return the event to wait for. Does not own the socket. One thread.
class Transport {
public:
    enum class Io : std::uint8_t { done, want_read, want_write, ended, broken };
    struct Outcome {
        Io io = Io::broken;
        std::size_t bytes = 0;
    };

    /// `tls` null: plain.
    Transport(int socket, std::shared_ptr<const TlsContext> tls);
    ~Transport();
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    bool secure() const { return ssl_ != nullptr; }
    Outcome handshake();
    Outcome read(std::span<char> into);
    Outcome write(std::span<const char> from);

    /// There may be input that no readiness of the socket will announce.
    bool has_buffered() const;
    /// Bytes wait in the socket.
    bool has_input() const;
    /// Announces the end of sending; reading goes on.
    void end_output();

private:
    Outcome outcome_of(int result);

    const int socket_;
    const std::shared_ptr<const TlsContext> tls_;  ///< keeps the certificate of this connection
    ssl_st* ssl_ = nullptr;
};

/// One client's socket: reads a request, passes it to the handler, writes its reply, and so on in
/// order. It reads nothing while a request is under way, so a client can make us hold one request
/// and one socket buffer, no more; behind a reply that is a stream it reads once.
class Connection final : public Exchange, public std::enable_shared_from_this<Connection> {
public:
    Connection(Descriptor socket, std::shared_ptr<const TlsContext> tls, const Peer& peer,
               ConnectionSet& set);

    /// Enters the set and begins.
    void start();

    const HttpRequest& request() const override {
        return (abandoned_ ? abandoned_ : active_)->parser.request();
    }
    void reply(HttpReply reply) override;
    /// The turn that ConnectionSet::defer() gives.
    void run_deferred();

    std::chrono::steady_clock::time_point deadline() const { return entry_.at; }
    /// The deadline has passed.
    void expire();
    /// Ends in order: requests that have reached us or are on their way are answered, and the last
    /// reply announces the close.
    void drain();
    /// No more time for that: the request under way is answered with a rejection.
    void give_up();
    void abort(CloseReason reason);
    /// Idle, or waiting for the rest of a request, for the peer to read, or for its close.
    bool waits_for_peer() const;

private:
    enum class State : std::uint8_t {
        introducing,  ///< the PROXY header has not come
        handshaking,
        reading,
        handling,
        writing,
        streaming,  ///< the next piece of a reply has not come
        lingering,
        closed,
    };

    void run();
    void run_steps();
    bool step();
    bool introduce_step();
    bool introduced(const ProxyHeader& header);
    bool handshake_step();
    bool read_step();
    void begin_request();
    bool parse(std::string_view input, bool from_rest);
    bool parsed(RequestParser::Status status);
    bool want_more_input();
    bool handle();
    void fail();
    bool write_step();
    bool written();
    void begin_stream(std::shared_ptr<BodyStream> stream);
    bool stream_step();
    bool end_stream();
    void watch_reader();
    void read_behind_stream();
    void wake_stream();
    bool linger_step();

    bool defer();
    bool wait(Watch::Event event);
    bool wait_or_close(Transport::Io io, CloseReason reason);
    bool reject(Rejection why);
    void begin_writing();
    bool idle() const { return state_ == State::reading && !active_; }
    bool half_request() const { return state_ == State::reading && active_; }
    /// Bytes of another request have come already.
    bool has_more() { return rest_at_ < rest_.size() || transport_.has_input(); }
    void end_idle(CloseReason reason);
    void linger();
    void close(CloseReason reason);

    ConnectionSet& set_;  ///< not touched once closed: it may be gone then
    Peer peer_;           ///< the proxy, until its header names the client
    std::unique_ptr<ProxyHeaderReader> introduction_;  ///< while introducing
    Watch socket_;
    Transport transport_;
    ConnectionSet::Entry entry_;
    State state_ = State::reading;
    CloseReason reason_ = CloseReason::finished;  ///< of the close that will follow the reply
    bool close_after_ = false;  ///< the present reply announces it, or an earlier one did
    bool draining_ = false;
    bool running_ = false;
    bool waiting_ = false;
    bool readable_ = false;               ///< worth a read before waiting
    bool may_begin_ = false;              ///< no request was begun in this turn
    bool deferred_ = false;               ///< run_deferred() will come
    bool interim_ = false;                ///< "100 Continue" is being written
    bool continued_ = false;              ///< it was written
    bool starved_ = false;                ///< the parser wants more than rest_ holds
    bool streaming_ = false;              ///< the reply that is being written comes in pieces
    bool chunked_ = false;                ///< how they are written
    bool watching_ = false;               ///< for a peer that leaves
    bool stream_woken_ = false;           ///< since its next piece was asked for
    std::shared_ptr<BodyStream> stream_;  ///< null once it has ended
    std::optional<core::Lifetime> stream_life_;
    std::shared_ptr<const void> held_;  ///< until the reply is written
    std::size_t written_ = 0;
    std::size_t discarded_ = 0;
    std::string rest_;  ///< read, not parsed yet
    std::size_t rest_at_ = 0;
    std::unique_ptr<ActiveRequest> active_;
    /// Answered by give_up() or fail(); its handler may still have it.
    std::unique_ptr<ActiveRequest> abandoned_;
};

}  // namespace beckon::net
