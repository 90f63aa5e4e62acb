#pragma once

#include "net/descriptor.hpp"
#include "net/http/http_server.hpp"
#include "net/http/request_parser.hpp"
#include "net/io_loop.hpp"

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace beckon::net {

class Connection;

/// The buffers of a request under way; the next request on the thread uses them again, so that idle
/// connections hold next to no memory.
struct ActiveRequest {
    explicit ActiveRequest(const RequestLimits& limits) : parser(limits) {}
    /// Memory that the next request would find.
    std::size_t kept_bytes() const { return parser.kept_bytes() + out.capacity(); }

    RequestParser parser;
    std::string out;  ///< the reply's bytes
};

/// The connections of one loop, their deadlines, and their shared objects. The loop's thread only;
/// the loop has ended when the set is destroyed.
///
/// Deadlines of one kind all have the same length, so each kind is a list in order of expiry, and
/// one timer serves all: setting a deadline moves a node to a list's end. The timer runs only while
/// there are connections, and fires when the first of them may be due.
class ConnectionSet {
public:
    /// ActiveRequests that are kept for later requests.
    static constexpr std::size_t kSpareMax = 256;
    /// One that took more memory than this is not kept.
    static constexpr std::size_t kSpareBytesMax = 65'536;
    /// Of the loop's time, for deferred connections in one turn.
    static constexpr std::chrono::microseconds kDeferredSlice{200};

    enum class Deadline : std::uint8_t { request, answer, keep_alive, linger, last_request };

    struct Shared {
        const HttpServerOptions& options;
        ConnectionLimiter& connections;
        HttpObserver& observer;
        HttpHandler& handler;
    };
    ConnectionSet(IoLoop& loop, const Shared& shared);

    /// A connection's node in the list of its deadline.
    struct Entry {
        std::list<std::shared_ptr<Connection>>::iterator node;
        Deadline kind = Deadline::request;
        std::chrono::steady_clock::time_point at{};
    };
    /// The set owns the connection until remove().
    Entry add(std::shared_ptr<Connection> connection);
    void set_deadline(Entry& entry, Deadline kind);
    void remove(Entry& entry, const Peer& peer, CloseReason reason);

    std::size_t size() const;
    /// Calls `visit` with every connection; it may remove itself.
    void for_each(const std::function<void(Connection&)>& visit);
    /// Runs `emptied` when the last connection has gone (at once if there is none).
    void when_empty(std::function<void()> emptied);
    /// Closes the connection that has waited longest for its peer: an idle one if there is any,
    /// else one whose request is not whole, or whose peer does not read the reply. False: there is
    /// none.
    bool close_oldest();

    std::unique_ptr<ActiveRequest> borrow_request();
    void give_back(std::unique_ptr<ActiveRequest> request);

    /// Calls run_deferred() later. All deferred connections share one task of the loop, which runs
    /// them in turn for at most kDeferredSlice and goes to the end of the loop's queue: however
    /// many they are, an event of another connection waits for one slice.
    void defer(std::shared_ptr<Connection> connection);

    /// Whether a connection of that peer begins with a PROXY header.
    bool wants_proxy_header(const Peer& peer) const {
        return shared_.options.proxy_protocol && shared_.options.proxies.contains(peer.address);
    }
    /// The header has named the client. False: there are too many connections of that one already.
    bool introduce(Peer& peer, const PeerAddress& client);

    IoLoop& loop() { return loop_; }
    OwnDescriptors& own_descriptors() { return own_descriptors_; }
    const std::string& name() const { return shared_.options.name; }
    const RequestLimits& limits() const { return shared_.options.limits; }
    bool has_answer_time() const { return shared_.options.times.answer.has_value(); }
    HttpHandler& handler() { return shared_.handler; }
    /// Most bytes of one read, and so of the pipelined input that one connection can make us hold.
    std::array<char, 8'192>& scratch() { return scratch_; }

private:
    using Time = std::chrono::steady_clock::time_point;
    /// The lists are checked at `at`, or a little later.
    void check_at(Time at);
    void check_deadlines(Time at);
    void expire_due();
    void schedule_next();
    void post_deferred();
    void run_deferred();

    IoLoop& loop_;
    const Shared shared_;
    OwnDescriptors own_descriptors_;
    std::array<std::list<std::shared_ptr<Connection>>, 5> by_deadline_;
    std::vector<std::unique_ptr<ActiveRequest>> spare_;
    std::deque<std::shared_ptr<Connection>> deferred_;  ///< in the order of their turns
    bool deferred_posted_ = false;                      ///< the loop has a task for them
    std::chrono::milliseconds delay_;  ///< that a look may have, so that it serves many
    Time next_check_ = Time::max();    ///< max: no timer runs
    std::function<void()> emptied_;
    std::array<char, 8'192> scratch_;
};

}  // namespace beckon::net
