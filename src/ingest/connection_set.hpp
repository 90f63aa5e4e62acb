#pragma once

#include "ingest/api/http_message.hpp"
#include "ingest/metrics/ingest_metrics.hpp"
#include "ingest/request_parser.hpp"

#include <array>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace beckon::ingest {

class Connection;

struct ConnectionTimes {
    /// Absolute, per request: from its first byte (or the connection's first moment) until its
    /// reply is written.
    std::chrono::milliseconds request{30'000};
    std::chrono::milliseconds keep_alive{60'000};
    /// After our end of output, for the peer to take the reply and close. At a stop also for the
    /// rest of a request that has begun.
    std::chrono::milliseconds linger{2'000};
    /// At a stop, for a request that is on its way to a connection that looks idle.
    std::chrono::milliseconds farewell{500};
};

/// What a request needs while it is under way; reused by the next one on the thread, so that idle
/// connections hold next to no memory.
struct ActiveRequest {
    explicit ActiveRequest(const RequestLimits& limits) : parser(limits) {}

    RequestParser parser;
    std::string out;  ///< the reply's bytes
};

/// The connections of one io thread: their deadlines, and what they share. That thread only.
///
/// Deadlines of one kind all have the same length, so each kind is a list in order of expiry, and
/// one timer serves all: setting a deadline moves a node to a list's end.
class ConnectionSet {
public:
    enum class Deadline : std::uint8_t { request, keep_alive, linger, farewell };
    using Handler = std::function<void(ExchangePtr)>;

    ConnectionSet(boost::asio::io_context& context, const RequestLimits& limits,
                  const ConnectionTimes& times, IngestMetrics& metrics, Handler handler);

    struct Place {
        std::list<std::shared_ptr<Connection>>::iterator node;
        Deadline kind = Deadline::request;
        std::chrono::steady_clock::time_point at{};
    };
    /// The set owns the connection until remove().
    Place add(std::shared_ptr<Connection> connection);
    void set_deadline(Place& place, Deadline kind);
    void remove(Place& place);

    std::size_t size() const;
    /// Calls `visit` with every connection; it may remove itself.
    void for_each(const std::function<void(Connection&)>& visit);
    /// Runs `emptied` when the last connection has gone (at once if there is none).
    void when_empty(std::function<void()> emptied);

    std::unique_ptr<ActiveRequest> take_request();
    void give_back(std::unique_ptr<ActiveRequest> request);

    const RequestLimits& limits() const { return limits_; }
    IngestMetrics& metrics() { return metrics_; }
    const Handler& handler() const { return handler_; }
    /// What one read takes at most, and so what pipelined input a connection can make us hold.
    std::array<char, 8'192>& scratch() { return scratch_; }

    std::function<void(const net::PeerAddress&, bool exempt)> on_closed;

private:
    void tick();

    const RequestLimits limits_;
    const ConnectionTimes times_;
    IngestMetrics& metrics_;
    const Handler handler_;
    std::array<std::list<std::shared_ptr<Connection>>, 4> by_deadline_;
    std::vector<std::unique_ptr<ActiveRequest>> spare_;
    boost::asio::steady_timer timer_;
    std::chrono::milliseconds tick_;
    std::function<void()> emptied_;
    std::array<char, 8'192> scratch_;
};

}  // namespace beckon::ingest
