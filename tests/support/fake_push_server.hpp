#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::test {

/// A push service in one thread and in memory, just large enough for the clients' tests: WebSocket
/// protocol and `POST`/`DELETE` on one loopback port. It delivers at once to connected clients,
/// keeps messages until their ack, sends them again at the next hello, and verifies nothing.
class FakePushServer {
public:
    struct Options {
        bool tls = false;  ///< with a certificate for "localhost" made at the start
    };
    struct Request {
        std::string method;
        std::string target;
        std::map<std::string, std::string> headers;  ///< names in lower case
        std::string body;
    };
    struct Reply {
        int status = 201;
        std::map<std::string, std::string> headers;
        std::string body;
    };

    FakePushServer() : FakePushServer(Options{}) {}
    explicit FakePushServer(Options options);
    ~FakePushServer();
    FakePushServer(const FakePushServer&) = delete;
    FakePushServer& operator=(const FakePushServer&) = delete;

    std::uint16_t port() const;
    std::string ws_url() const;
    /// The certificate as PEM (with Options::tls).
    const std::string& certificate() const;

    // All of these may be called from the test's thread at any time.

    /// The next POST gets this instead of being accepted.
    void answer_next_post(Reply reply);
    /// Clients' frames get no reply any more.
    void fall_silent();
    /// Connections end without a close frame; clients' records stay.
    void drop_clients();
    /// All clients' records are gone.
    void forget_clients();
    /// A frame for every connected client, as it is.
    void send_frame(const std::string& frame);
    /// Every message is sent twice, with one version.
    void deliver_twice();

    /// Frames received from clients so far, in order.
    std::vector<std::string> frames() const;
    /// HTTP requests so far, in order.
    std::vector<Request> requests() const;
    std::size_t unacknowledged() const;
    /// TCP connections accepted so far.
    std::size_t connections() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::test
