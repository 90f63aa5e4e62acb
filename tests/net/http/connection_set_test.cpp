#include "net/http/connection_set.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::net;

namespace {

struct NoRequests final : HttpHandler {
    void handle(ExchangePtr) override {}
    HttpReply rejection(Rejection) override { return {}; }
};

/// A set without connections, of a loop that does not run.
struct Empty {
    explicit Empty(std::size_t body_bytes_max = 5'630)
        : options{.limits = {.body_bytes_max = body_bytes_max}} {}

    const HttpServerOptions options;
    ConnectionLimiter limiter{ConnectionLimits{}};
    NobodyCounts counts;
    NoRequests handler;
    IoLoop loop;
    ConnectionSet set{loop, {options, limiter, counts, handler}};
};

using Requests = std::vector<std::unique_ptr<ActiveRequest>>;

Requests borrow(ConnectionSet& set, std::size_t count) {
    Requests out;
    while (out.size() < count) out.push_back(set.borrow_request());
    return out;
}

/// Kept from an earlier use: its reply's buffer has memory.
bool is_used(const std::unique_ptr<ActiveRequest>& request) { return request->out.capacity() > 15; }

}  // namespace

TEST_CASE("requests kept for reuse are bounded, and there is space again") {
    constexpr std::size_t kTooMany = 10;
    Empty world;
    for (int round = 0; round < 2; ++round) {  // the second finds as much space as the first
        auto all = borrow(world.set, ConnectionSet::kSpareMax + kTooMany);
        for (auto& request : all) request->out.assign(1'000, 'x');
        for (auto& request : all) world.set.give_back(std::move(request));
        const auto again = borrow(world.set, ConnectionSet::kSpareMax + kTooMany);
        CHECK(std::count_if(again.begin(), again.end(), is_used) == ConnectionSet::kSpareMax);
        CHECK(std::all_of(again.begin(), again.end(),
                          [](const auto& request) { return request->out.empty(); }));
    }
}

// Verified to fail when only the reply counts: 256 large bodies stayed in memory for each thread.
TEST_CASE("a request that took much memory gives it back, incoming or outgoing") {
    constexpr std::size_t kLarge = 2 * ConnectionSet::kSpareBytesMax;
    Empty world{kLarge};
    const bool comes_in = GENERATE(true, false);
    auto request = world.set.borrow_request();
    request->out.assign(1'000, 'x');
    if (comes_in) {
        const std::string text =
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(kLarge) + "\r\n\r\n" +
            std::string(kLarge, 'x');
        std::size_t used = 0;
        REQUIRE(request->parser.put(text, used) == RequestParser::Status::complete);
    } else {
        request->out.assign(kLarge, 'x');
    }
    world.set.give_back(std::move(request));
    CHECK_FALSE(is_used(world.set.borrow_request()));
}
