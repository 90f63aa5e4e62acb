
#include "edge/broadcast/broadcast_poller.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include <catch2/catch.hpp>
#include <httplib.h>

using namespace beckon;
using namespace std::chrono_literals;
using edge::BroadcastSet;

namespace {

using Found = core::Result<std::vector<BroadcastSet>>;

/// A web server that answers as a test says.
class PageServer {
public:
    PageServer() {
        server.Get("/page", [this](const httplib::Request&, httplib::Response& reply) {
            ++asked;
            const std::scoped_lock lock{mutex_};
            reply.status = status_;
            reply.set_content(body_, "application/json");
        });
        server.Get("/moved", [](const httplib::Request&, httplib::Response& reply) {
            reply.set_redirect("/page", 307);
        });
        server.Get("/round", [](const httplib::Request&, httplib::Response& reply) {
            reply.set_redirect("/round", 307);
        });
        server.Get("/long", [](const httplib::Request&, httplib::Response& reply) {
            reply.set_content(std::string((1U << 20) + 1, ' '), "application/json");
        });
        server.Get("/silent", [this](const httplib::Request&, httplib::Response&) {
            ++asked;
            release_.get_future().wait();
        });
        port_ = server.bind_to_any_port("127.0.0.1");
        thread_ = std::jthread{[this] { server.listen_after_bind(); }};
        while (!server.is_running()) std::this_thread::yield();
    }
    ~PageServer() {
        release_.set_value();
        server.stop();
    }
    void answer(int status, std::string body) {
        const std::scoped_lock lock{mutex_};
        status_ = status;
        body_ = std::move(body);
    }
    std::string url(const std::string& path) const {
        return "http://127.0.0.1:" + std::to_string(port_) + path;
    }

    httplib::Server server;
    std::atomic<int> asked{0};

private:
    std::mutex mutex_;
    int status_ = 200;
    std::string body_ = R"({"broadcasts":{"a":"1"}})";
    std::promise<void> release_;
    int port_ = 0;
    std::jthread thread_;
};

template <class Condition>
bool soon(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::yield();
    }
    return true;
}

}  // namespace

TEST_CASE("a page names broadcasts with versions") {
    const auto found = edge::parse_broadcasts(R"({"broadcasts":{"a":"1","b":"\"2\""},"x":1})");
    REQUIRE(found);
    CHECK(*found == std::vector<BroadcastSet>{{"a", "1"}, {"b", "\"2\""}});
    CHECK(edge::parse_broadcasts(R"({"broadcasts":{}})")->empty());
}

TEST_CASE("a page that is wrong in one place counts for nothing") {
    const auto [body, why] = GENERATE(table<std::string, std::string>({
        {"", "is not"},
        {"[]", "is not"},
        {"{}", "is not"},
        {R"({"broadcasts":[]})", "is not"},
        {R"({"broadcasts":{"a":"1","b":2}})", "'b' is no text"},
        {R"({"broadcasts":{"a":"1","b":""}})", "1 to 256"},
        {R"({"broadcasts":{"!a":"1"}})", "1 to 128"},
    }));
    CAPTURE(body);
    const auto found = edge::parse_broadcasts(body);
    REQUIRE(!found);
    CHECK(found.error().message.find(why) != std::string::npos);
}

TEST_CASE("redirects are followed, but not for ever") {
    PageServer server;
    CHECK(edge::fetch_page(server.url("/moved"), {}) == R"({"broadcasts":{"a":"1"}})");
    CHECK(!edge::fetch_page(server.url("/round"), {}));
}

TEST_CASE("a page is refused by its status, its length and its scheme") {
    PageServer server;
    server.answer(500, "{}");
    const auto failed = edge::fetch_page(server.url("/page"), {});
    REQUIRE(!failed);
    CHECK(failed.error().message == "the answer has status 500");
    CHECK(edge::fetch_page(server.url("/long"), {}).error().fault == core::Fault::too_large);
    CHECK(!edge::fetch_page("file:///etc/passwd", {}));
}

TEST_CASE("a poller asks again and again, through errors") {
    PageServer server;
    std::mutex mutex;
    std::vector<Found> polled;
    const auto saw = [&](const auto& matches) {
        return soon([&] {
            const std::scoped_lock lock{mutex};
            return !polled.empty() && matches(polled.back());
        });
    };
    edge::BroadcastPoller poller{server.url("/page"), 1ms, [&](Found found) {
                                     const std::scoped_lock lock{mutex};
                                     polled.push_back(std::move(found));
                                 }};
    poller.enable(true);
    CHECK(saw([](const Found& f) { return f && *f == std::vector<BroadcastSet>{{"a", "1"}}; }));
    server.answer(503, "");
    CHECK(saw([](const Found& f) { return !f; }));
    server.answer(200, R"({"broadcasts":{"a":"2"}})");
    CHECK(saw([](const Found& f) { return f && *f == std::vector<BroadcastSet>{{"a", "2"}}; }));
}

TEST_CASE("a poller that is not enabled asks nothing, and ends at once") {
    PageServer server;
    {
        edge::BroadcastPoller poller{server.url("/page"), 1ms, [](Found) {}};
    }
    CHECK(server.asked == 0);
}

TEST_CASE("a poller's end does not wait for the answer") {
    PageServer server;
    std::atomic<int> polled{0};
    {
        edge::BroadcastPoller poller{server.url("/silent"), 1ms, [&](Found) { ++polled; }};
        poller.enable(true);
        REQUIRE(soon([&] { return server.asked == 1; }));
    }
    CHECK(polled == 0);
}
