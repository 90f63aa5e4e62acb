// Request heads and bodies: the same bytes give the same request however they are cut, and routing
// takes any target.
#include "ingest/request_parser.hpp"
#include "ingest/router.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

using namespace beckon::ingest;

namespace {

constexpr RequestLimits kLimits{.header_bytes_max = 2048, .body_bytes_max = 64};

void require(bool ok) {
    if (!ok) std::abort();
}

struct Seen {
    RequestParser::Status status = RequestParser::Status::need_more;
    std::string target;
    std::string body;
    std::vector<std::string> headers;
    bool operator==(const Seen&) const = default;
};

Seen parse(std::string_view bytes, std::size_t piece) {
    RequestParser parser{kLimits};
    Seen seen;
    std::string rest;
    while (seen.status == RequestParser::Status::need_more && !bytes.empty()) {
        const auto n = std::min(piece, bytes.size());
        rest += bytes.substr(0, n);
        bytes.remove_prefix(n);
        std::size_t used = 0;
        seen.status = parser.put(rest, used);
        require(used <= rest.size());
        rest.erase(0, used);
        // What a connection holds between reads is bounded by the same limit.
        if (seen.status == RequestParser::Status::need_more &&
            rest.size() > kLimits.header_bytes_max) {
            seen.status = RequestParser::Status::header_too_large;
        }
    }
    if (seen.status != RequestParser::Status::complete) return seen;
    const auto& request = parser.request();
    seen.target = request.target;
    seen.body = request.body;
    for (std::size_t i = 0; i < kHeaderNames; ++i) {
        const auto value = request.headers.get(static_cast<HeaderName>(i));
        seen.headers.push_back(value ? "=" + std::string{*value} : "");
    }
    require(seen.body.size() <= kLimits.body_bytes_max);
    static_cast<void>(find_route(request.method, request.target));
    return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes{reinterpret_cast<const char*>(data + 1), size - 1};
    const auto whole = parse(bytes, std::max<std::size_t>(1, bytes.size()));
    const auto cut = parse(bytes, 1 + data[0] % 17);
    // Broken or oversized input may be noticed sooner or later than the end of the input.
    if (whole.status == RequestParser::Status::complete &&
        cut.status == RequestParser::Status::complete) {
        require(whole == cut);
    }
    return 0;
}
