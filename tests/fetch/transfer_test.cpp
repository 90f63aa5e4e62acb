#include "fetch/transfer.hpp"

#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <httplib.h>

using namespace beckon;
using namespace std::chrono_literals;
using core::Fault;
using fetch::Transfer;

namespace {

/// Answers with what was asked of it.
class Server {
public:
    Server() {
        server_.Get(R"(/bytes/(\d+))", [](const auto& request, auto& reply) {
            reply.set_content(std::string(std::stoul(request.matches[1]), 'x'), "text/plain");
        });
        server_.Get("/header", [](const auto& request, auto& reply) {
            reply.set_content(request.get_header_value("X-Word"), "text/plain");
        });
        server_.Get("/gone", [](const auto&, auto& reply) { reply.status = 410; });
        port_ = server_.bind_to_any_port("127.0.0.1");
        thread_ = std::jthread{[this] { server_.listen_after_bind(); }};
        while (!server_.is_running()) std::this_thread::yield();
    }
    ~Server() { server_.stop(); }

    Transfer::Options options(const std::string& path) const {
        return {.url = "http://127.0.0.1:" + std::to_string(port_) + path,
                .timeout = 20s,
                .body_bytes_max = 100};
    }

private:
    httplib::Server server_;
    int port_ = 0;
    std::jthread thread_;
};

}  // namespace

TEST_CASE("an answer has its status and its body") {
    Server server;
    const auto easy = fetch::make_easy();
    const auto answer = Transfer{easy.get(), server.options("/bytes/3")}.perform();
    REQUIRE(answer);
    CHECK(answer->status == 200);
    CHECK(answer->body == "xxx");
    CHECK(Transfer{easy.get(), server.options("/gone")}.perform()->status == 410);
}

TEST_CASE("an answer may be as long as is allowed, and not a byte longer") {
    Server server;
    const auto easy = fetch::make_easy();
    CHECK(Transfer{easy.get(), server.options("/bytes/100")}.perform()->body.size() == 100);
    const auto longer = Transfer{easy.get(), server.options("/bytes/101")}.perform();
    REQUIRE(!longer);
    CHECK(longer.error().fault == Fault::too_large);
    CHECK(longer.error().message == "the answer is longer than 100 bytes");
}

TEST_CASE("header lines are those of one transfer") {
    Server server;
    const auto easy = fetch::make_easy();
    fetch::HeaderLines lines;
    lines.add("X-Other: 1");
    lines.add("X-Word: hello");
    {
        Transfer transfer{easy.get(), server.options("/header")};
        transfer.headers(lines);
        CHECK(transfer.perform()->body == "hello");
    }
    CHECK(Transfer{easy.get(), server.options("/header")}.perform()->body.empty());
}

TEST_CASE("a server that cannot be reached is unavailable, and the text names it") {
    const auto easy = fetch::make_easy();
    const Transfer::Options nobody{
        .url = "http://127.0.0.1:1/", .timeout = 20s, .body_bytes_max = 100};
    const auto answer = Transfer{easy.get(), nobody}.perform();
    REQUIRE(!answer);
    CHECK(answer.error().fault == Fault::unavailable);
    CHECK(answer.error().message.find("127.0.0.1") != std::string::npos);
}

TEST_CASE("a server that accepts the connection and sends nothing times out") {
    httplib::Server silent;
    const auto port = silent.bind_to_any_port("127.0.0.1");  // listens, and accepts nobody
    const auto easy = fetch::make_easy();
    const Transfer::Options options{.url = "http://127.0.0.1:" + std::to_string(port) + "/",
                                    .timeout = 50ms,
                                    .body_bytes_max = 100};
    CHECK(Transfer{easy.get(), options}.perform().error().fault == Fault::timed_out);
}

TEST_CASE("other schemes than http and https are refused") {
    const auto easy = fetch::make_easy();
    const Transfer::Options file{
        .url = "file:///etc/hostname", .timeout = 20s, .body_bytes_max = 100'000};
    CHECK_FALSE(Transfer{easy.get(), file}.perform());
}
