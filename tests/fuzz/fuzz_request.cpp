// Requests, one after the other on a connection: the same bytes give the same requests however they
// are cut, and routing takes any target. The first byte of the input says how they are cut.
#include "fuzz/require.hpp"
#include "ingest/api/router.hpp"
#include "net/http/request_parser.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace beckon::ingest;
using namespace beckon::net;
using beckon::test::require;

namespace {

constexpr RequestLimits kLimits{.header_bytes_max = 512, .body_bytes_max = 32};
using Status = RequestParser::Status;

struct Seen {
    Method method = Method::other;
    std::string target;
    std::string body;
    std::vector<std::string> headers;
    bool keep_alive = false;
    bool body_length_given = false;
    bool operator==(const Seen&) const = default;
};

void routed(Method method, std::string_view target) {
    const auto route = find_route(method, target);
    require((route.name == RouteName::unknown) == route.allow.empty());
    require(route.method_allowed || method != Method::get || route.allow.find("GET") > 100);
    for (const auto argument : route.arguments) {
        require(argument.find_first_of("/?#") == std::string_view::npos);
    }
    if (!target.starts_with('/')) return;
    const auto asked = std::string{target.substr(0, target.find_first_of("?#"))} + "?x=/y";
    const auto other = find_route(method, asked);
    require(other.name == route.name && other.arguments == route.arguments);
}

Seen judge(RequestParser& parser, Status status) {
    Seen seen;
    if (status != Status::complete && status != Status::body_too_large) return seen;
    const auto& request = parser.request();
    seen.method = request.method;
    seen.target = request.target;
    seen.body = request.body;
    seen.keep_alive = status == Status::complete && parser.keep_alive();
    seen.body_length_given = request.body_length_given;
    for (std::size_t i = 0; i < kHeaderNames; ++i) {
        const auto value = request.headers.get(static_cast<HeaderName>(i));
        seen.headers.push_back(value ? "=" + std::string{*value} : "");
        require(!value || value->find_first_of("\r\n") == std::string_view::npos);
    }
    require(request.body_too_large == (status == Status::body_too_large));
    require(seen.body.size() <= kLimits.body_bytes_max);
    routed(seen.method, seen.target);
    return seen;
}

/// The complete requests of a connection. The bytes behind them are not compared: the parser may
/// notice a fault in them only with the next piece.
struct Conversation {
    std::vector<Seen> requests;
    bool head_too_large = false;
};

/// With a client whose bytes come in pieces of a size.
Conversation converse(std::string_view bytes, std::size_t piece) {
    RequestParser parser{kLimits};
    Conversation all;
    std::string rest;
    while (!bytes.empty()) {
        const auto n = std::min(piece, bytes.size());
        rest += bytes.substr(0, n);
        bytes.remove_prefix(n);
        for (;;) {
            std::size_t used = 0;
            const auto status = parser.put(rest, used);
            require(used <= rest.size());
            rest.erase(0, used);
            if (status == Status::need_more) break;
            const auto seen = judge(parser, status);
            all.head_too_large = status == Status::header_too_large;
            if (status != Status::complete) return all;
            all.requests.push_back(seen);
            if (!seen.keep_alive) return all;
            parser.reset();
            if (rest.empty()) break;
        }
        // The same limit bounds the bytes that a connection holds between reads.
        all.head_too_large = rest.size() > kLimits.header_bytes_max;
        if (all.head_too_large) return all;
    }
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes{reinterpret_cast<const char*>(data + 1), size - 1};
    auto whole = converse(bytes, std::max<std::size_t>(1, bytes.size()));
    auto cut = converse(bytes, 1 + data[0] % 67);
    if (whole.head_too_large != cut.head_too_large) {  // by a blank or an end of line, either way
        const auto common = std::min(whole.requests.size(), cut.requests.size());
        whole.requests.resize(common);
        cut.requests.resize(common);
    }
    require(whole.requests == cut.requests);
    return 0;
}
