#pragma once

#include "core/enum_names.hpp"
#include "core/executor.hpp"
#include "net/connection_limiter.hpp"
#include "net/http/http_message.hpp"
#include "net/peer_address.hpp"
#include "net/tls.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// The HTTP/1.1 server of every port that is not a WebSocket's: one event loop per thread, one
/// request at a time on each connection, everything bounded.
namespace beckon::net {

struct RequestLimits {
    std::size_t header_bytes_max = 16'384;  ///< request line and headers together
    std::size_t body_bytes_max = 5'630;
    /// Headers whose name begins so are kept for the handler (`HttpRequest::extra`): lower case,
    /// static storage; empty: all headers.
    std::optional<std::string_view> extra_prefix{};
};

struct ConnectionTimes {
    /// For each request, from its first byte (or the connection's first moment) until its reply is
    /// written; for each piece of a stream, until the next one is.
    std::chrono::milliseconds request{30'000};
    /// From the end of the request until the answer, where an answer may take longer than a
    /// request; none: the rest of `request`.
    std::optional<std::chrono::milliseconds> answer{};
    std::chrono::milliseconds keep_alive{60'000};
    /// After our end of output, for the peer to take the reply and close. At a stop also for the
    /// rest of a request that has begun.
    std::chrono::milliseconds linger{2'000};
    /// At a stop, for a request that is on its way to a connection that looks idle.
    std::chrono::milliseconds last_request{500};
};

/// Why a connection ended or was turned away.
enum class CloseReason : std::uint8_t {
    by_peer,
    keep_alive,  ///< idle for too long
    deadline,    ///< a request was not done in time
    finished,    ///< `Connection: close`, or after an error that ends it
    bad_request,
    header_too_large,
    body_too_large,
    tls,           ///< handshake or record failure
    proxy_header,  ///< a trusted proxy's connection does not begin with a PROXY header
    connections,   ///< too many in total
    address,       ///< too many from one address
    stopping,
    broken,  ///< reset, an I/O error, or no memory for it
};
/// The label in metrics.
inline std::string_view to_string(CloseReason reason) { return core::name_of(reason); }

/// Why a request gets its reply without its handler.
enum class Rejection : std::uint8_t {
    bad_request,  ///< not HTTP/1.1
    bad_host,     ///< no Host header, or several (RFC 9112 §3.2)
    header_too_large,
    too_slow,              ///< it did not arrive within the deadline
    too_many_connections,  ///< the connection is turned away
    stopping,              ///< the server's stop does not wait for it any longer
    failed,                ///< its handler threw: 500
};

struct RejectionText {
    int status;
    std::string_view why;
};
/// The status and the words of a rejection, for a port whose API has none of its own.
RejectionText rejection_text(Rejection why);

/// The handler of the requests of one loop. Used on that loop's thread only.
class HttpHandler {
public:
    virtual ~HttpHandler() = default;
    /// Replies through `exchange` exactly once: now, or in any later turn of this loop. An
    /// exception is reported (core/contain.hpp) and becomes the reply rejection(failed) of this one
    /// request.
    virtual void handle(ExchangePtr exchange) = 0;
    /// The reply in such a case.
    virtual HttpReply rejection(Rejection why) = 0;
};

/// Is notified of connections, for metrics. Called from all loops: thread-safe.
class HttpObserver {
public:
    virtual ~HttpObserver() = default;
    virtual void opened() = 0;
    virtual void closed(CloseReason reason) = 0;  ///< follows each opened()
    virtual void turned_away(CloseReason reason) = 0;
    virtual void accept_paused() = 0;
};

/// For a port without metrics of its own.
class NobodyCounts final : public HttpObserver {
    void opened() override {}
    void closed(CloseReason) override {}
    void turned_away(CloseReason) override {}
    void accept_paused() override {}
};

/// The treatment of a connection above the limit of all connections.
enum class WhenFull : std::uint8_t {
    turn_away,       ///< it gets a rejection
    replace_oldest,  ///< the one that has waited longest for its peer is closed for it
};

struct HttpServerOptions {
    /// Descriptors of the port's own, of all its threads: it serves so many connections also where
    /// those of other ports have taken all others. Beyond them its oldest waiting one is closed.
    int own_descriptors = 4;
    std::string name = "http";  ///< of its threads: "<name>-0" and so on
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;  ///< 0: any free one
    int threads = 1;
    RequestLimits limits{};
    ConnectionTimes times{};
    ConnectionLimits connections{};
    WhenFull when_full = WhenFull::turn_away;
    TrustedProxies proxies{};  ///< exempt from the limit per address
    /// Their connections begin with a PROXY header, which names the client; other connections do
    /// not.
    bool proxy_protocol = false;
    std::shared_ptr<const TlsContext> tls = nullptr;
    /// The kernel's memory for bytes that one connection has not read yet. By itself the kernel
    /// gives a peer that pipelines and reads nothing 4 MB (net.ipv4.tcp_wmem), which times the
    /// connections is the whole machine. A reply that does not fit waits for the peer's
    /// acknowledgements, which Linux delays by up to 40 ms: a port with large replies and few
    /// connections wants more.
    int send_buffer_bytes = 32'768;
    static constexpr int kReceiveBufferBytes = 32'768;
    /// At a stop, for requests under way; those that are not answered then get a rejection.
    std::chrono::milliseconds drain{4'000};
};

class HttpServer {
public:
    /// Makes a loop's handler, on the loop's thread. It is destroyed there when the loop has ended.
    using MakeHandler = std::function<std::unique_ptr<HttpHandler>(core::Executor& loop)>;

    /// Takes the port; connections wait until start(). Throws std::runtime_error naming host, port
    /// and cause. `observer` outlives the server.
    HttpServer(HttpServerOptions options, HttpObserver& observer);
    /// join().
    ~HttpServer();

    /// Starts the threads; returns when all of them accept.
    void start(const MakeHandler& make_handler);
    /// No new connections, and each open one ends when its requests are answered. Returns at once.
    /// Idempotent; not concurrent with itself.
    void begin_stop();
    /// begin_stop(), then waits until the threads have ended (bounded by `drain` and a sixteenth of
    /// it). No handler exists afterwards. Idempotent.
    void join();

    std::uint16_t port() const;
    /// For connections from now on. Any thread while it runs.
    void use_tls(const std::shared_ptr<const TlsContext>& tls);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::net
