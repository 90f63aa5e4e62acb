#pragma once

#include "ingest/api/errors.hpp"
#include "ingest/api/http_message.hpp"
#include "ingest/connection_set.hpp"
#include "ingest/metrics/ingest_metrics.hpp"
#include "ingest/transport.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace beckon::ingest {

/// One client's socket: reads a request, hands it over, writes its reply, and so on in order. It
/// reads nothing while a request is under way, so a client can make us hold one request and one
/// socket buffer, no more.
class Connection final : public Exchange, public std::enable_shared_from_this<Connection> {
public:
    struct Peer {
        net::PeerAddress address;
        bool exempt = false;  ///< of limits per address
    };

    Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<const net::TlsContext> tls,
               const Peer& peer, ConnectionSet& set);

    /// Enters the set and begins.
    void start();

    const HttpRequest& request() const override {
        return (abandoned_ ? abandoned_ : active_)->parser.request();
    }
    void reply(HttpReply reply) override;

    std::chrono::steady_clock::time_point deadline() const { return place_.at; }
    /// The deadline has passed.
    void expire();
    /// Ends in order: what has reached us or is on its way is answered, and the last reply says so.
    void drain();
    /// No more time for that: whatever is under way is answered 503.
    void give_up();
    void abort(CloseReason reason);

private:
    enum class State : std::uint8_t { handshaking, reading, handling, writing, lingering, closed };
    enum class Wait : std::uint8_t { read, write };

    void run();
    bool step();
    bool handshake_step();
    bool read_step();
    bool take_input(std::string_view input, bool from_rest);
    bool handle();
    bool write_step();
    bool written();
    bool linger_step();

    bool wait(Wait what);
    bool refuse(Problem problem, CloseReason reason);
    void begin_writing();
    bool idle() const { return state_ == State::reading && !active_; }
    bool half_request() const { return state_ == State::reading && active_; }
    /// Bytes of another request have come already.
    bool has_more() { return rest_at_ < rest_.size() || transport_.has_input(); }
    void say_goodbye(CloseReason reason);
    void linger();
    void close(CloseReason reason);

    ConnectionSet& set_;  ///< not touched once closed: it may be gone then
    const Peer peer_;
    Transport transport_;
    ConnectionSet::Place place_;
    State state_ = State::reading;
    CloseReason reason_ = CloseReason::finished;  ///< of the close that will follow the reply
    bool close_after_ = false;  ///< the reply that is being made says so, or has said so
    bool draining_ = false;
    bool running_ = false;
    bool waiting_ = false;
    bool readable_ = false;   ///< worth a read before waiting
    bool interim_ = false;    ///< what is being written is "100 Continue"
    bool continued_ = false;  ///< it was written
    bool starved_ = false;    ///< the parser wants more than rest_ holds
    std::size_t written_ = 0;
    std::size_t discarded_ = 0;
    std::string rest_;  ///< read, not parsed yet
    std::size_t rest_at_ = 0;
    std::unique_ptr<ActiveRequest> active_;
    std::unique_ptr<ActiveRequest> abandoned_;  ///< answered by give_up(), its handler still has it
};

}  // namespace beckon::ingest
