#pragma once

#include "core/result.hpp"
#include "ingest/api/http.hpp"
#include "net/http/http_message.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// The push gateway of the Matrix specification ("Push Gateway API", `POST
/// /_matrix/push/v1/notify`), for UnifiedPush apps: a homeserver knows an app by its `pushkey`,
/// which is the app's endpoint URL here. docs/protocol/matrix.md has the mapping of its members to
/// a message.
namespace beckon::ingest {

/// A notification for one device.
struct MatrixPush {
    std::string pushkey;
    std::string target;   ///< the path of the endpoint URL; empty: the URL is not of this service
    std::string urgency;  ///< of `prio`: "high" or "low"
    std::string body;     ///< the request's, with this device alone
};

/// Devices of one request.
inline constexpr std::size_t kMatrixDevicesMax = 16;
/// For each message: an app that was away for longer asks its homeserver.
inline constexpr std::uint32_t kMatrixTtlSeconds = 7 * 86'400;

/// `origins`: those of endpoint URLs, former ones too. Errors: invalid (with the member
/// that differs from the specification).
core::Result<std::vector<MatrixPush>> parse_matrix(std::string_view body,
                                                   const std::vector<std::string>& origins);

/// The reply to the homeserver, from the replies to the messages of its request.
class MatrixReplies {
public:
    /// The message for this pushkey got that status.
    void add(const std::string& pushkey, int status);
    /// 200 with the pushkeys that the homeserver is to forget; 503, after which the homeserver
    /// repeats the request, if a message was refused for the time being.
    HttpReply reply() const;

private:
    std::vector<std::string> rejected_;
    bool later_ = false;
};

/// The answer to a GET, by which apps find a gateway (UnifiedPush, "Matrix gateway discovery").
HttpReply matrix_discovery();

/// A message of the gateway as a request to the endpoint, for Sending, which checks it as every
/// other one. `done` gets the status of its reply.
class MatrixExchange final : public net::Exchange {
public:
    MatrixExchange(MatrixPush push, const net::PeerAddress& peer, std::function<void(int)> done);
    const net::HttpRequest& request() const override { return request_; }
    void reply(net::HttpReply reply) override { done_(reply.status); }

private:
    const MatrixPush push_;
    const std::string ttl_;
    net::HttpRequest request_;
    std::function<void(int)> done_;
};

}  // namespace beckon::ingest
