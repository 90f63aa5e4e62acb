#include "client/p256_key.hpp"
#include "core/base64url.hpp"
#include "ingest/api/http.hpp"
#include "ingest/endpoint_world.hpp"

#include <array>
#include <cstdio>
#include <thread>

#include <catch2/catch.hpp>
#include <sys/resource.h>

using namespace beckon;
using namespace beckon::test;

namespace {

using std::chrono::milliseconds;

/// Deadlines that a test can wait for.
ingest::EndpointConfig hasty() {
    ingest::EndpointConfig config;
    config.request_deadline = milliseconds{150};
    config.keep_alive = milliseconds{150};
    return config;
}

std::string closed_metric(EndpointWorld& world, const std::string& reason) {
    const auto text = world.metrics_.text();
    const auto name = "beckon_ingest_closed_total{reason=\"" + reason + "\"} ";
    const auto at = text.find(name);
    if (at == std::string::npos) return "absent";
    return text.substr(at + name.size(), text.find('\n', at) - at - name.size());
}

/// Requests of a route that got 200.
std::size_t answered(EndpointWorld& world, const std::string& route) {
    const auto text = world.metrics_.text();
    const auto name = "beckon_ingest_requests_total{route=\"" + route + "\",status=\"200\"} ";
    const auto at = text.find(name);
    return at == std::string::npos ? 0 : std::stoul(text.substr(at + name.size()));
}

/// A close is counted when it is complete, which may be after the peer has seen it.
bool closed_as(EndpointWorld& world, const std::string& reason, const std::string& count) {
    return world.executor_.eventually([&] { return closed_metric(world, reason) == count; });
}

/// The status of a POST with a VAPID token for this audience.
int status_for(EndpointWorld& world, const std::string& path, const std::string& aud) {
    static const auto key = client::P256Key::generate();
    const auto exp =
        std::chrono::duration_cast<std::chrono::seconds>(world.clock_.wall().time_since_epoch()) +
        std::chrono::minutes{10};
    const auto text =
        core::base64url(R"({"typ":"JWT","alg":"ES256"})") + "." +
        core::base64url(R"({"aud":")" + aud + R"(","exp":)" + std::to_string(exp.count()) + "}");
    const auto header = "Authorization: vapid t=" + text + "." + core::base64url(key.sign(text)) +
                        ", k=" + core::base64url(key.public_point()) + "\r\n";
    auto socket = world.connect();
    REQUIRE(socket.send(EndpointWorld::post(path, "data", header)));
    return socket.read_reply().status;
}

/// From here on the view knows the subscription: no read barrier is needed for it.
void make_known(EndpointWorld& world, const std::string& path) {
    REQUIRE(world.wait_ready());
    auto socket = world.connect();
    REQUIRE(socket.send(EndpointWorld::post(path, "")));
    REQUIRE(socket.read_reply().status == 201);
}

}  // namespace

TEST_CASE("a POST over a socket is answered 201 when the log has it") {
    EndpointWorld world;
    const auto path = world.subscribed();
    auto socket = world.connect();
    REQUIRE(world.wait_ready());
    REQUIRE(socket.send(EndpointWorld::post(path, "ciphertext")));
    const auto reply = socket.read_reply();
    CHECK(reply.status == 201);
    const auto origin = world.endpoint_->origin();
    CHECK(origin == "http://127.0.0.1:" + std::to_string(world.endpoint_->port()));
    CHECK(reply.head.find("\r\nLocation: " + origin + "/m/") != std::string::npos);
    CHECK(reply.head.find("\r\nTTL: 60\r\n") != std::string::npos);
    CHECK(world.messages() == 1);
    // The connection goes on.
    REQUIRE(socket.send(EndpointWorld::post(path, "")));
    CHECK(socket.read_reply().status == 201);
    REQUIRE(socket.send("GET /__lbheartbeat__ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    CHECK(socket.read_reply().status == 200);
    CHECK(socket.ends());
}

TEST_CASE("bodies up to data_bytes_max pass, given and chunked") {
    EndpointWorld world;
    const auto path = world.subscribed();
    REQUIRE(world.wait_ready());
    for (const std::size_t bytes : {std::size_t{4096}, std::size_t{5624}, std::size_t{5630}}) {
        CAPTURE(bytes);
        auto socket = world.connect();
        REQUIRE(socket.send(EndpointWorld::post(path, std::string(bytes, '\xfe'))));
        CHECK(socket.read_reply().status == 201);
        std::string chunked = "POST " + path +
                              " HTTP/1.1\r\nHost: x\r\nTTL: 5\r\nContent-Encoding: aes128gcm\r\n"
                              "Transfer-Encoding: chunked\r\n\r\n";
        for (std::size_t at = 0; at < bytes; at += 1000) {
            const auto piece = std::min<std::size_t>(1000, bytes - at);
            std::array<char, 8> size{};
            std::snprintf(size.data(), size.size(), "%zx", piece);
            chunked += std::string{size.data()} + "\r\n" + std::string(piece, 'x') + "\r\n";
        }
        REQUIRE(socket.send(chunked + "0\r\n\r\n"));
        CHECK(socket.read_reply().status == 201);
    }
    CHECK(world.messages() == 6);
}

TEST_CASE("an oversized body is 413 and ends the connection in order") {
    EndpointWorld world;
    const auto path = world.subscribed();
    REQUIRE(world.wait_ready());
    const std::string head = "POST " + path + " HTTP/1.1\r\nHost: x\r\nTTL: 5\r\n";
    SECTION("announced only: no need to wait for it") {
        auto socket = world.connect();
        REQUIRE(socket.send(head + "Content-Length: 100000000\r\n\r\n"));
        const auto reply = socket.read_reply();
        CHECK(reply.status == 413);
        CHECK(reply.body.find("\"errno\":104,") != std::string::npos);
        CHECK(reply.head.find("\r\nConnection: close\r\n") != std::string::npos);
    }
    SECTION("announced with 100-continue: not asked for") {
        auto socket = world.connect();
        REQUIRE(socket.send(head + "Expect: 100-continue\r\nContent-Length: 5631\r\n\r\n"));
        CHECK(socket.read_reply().status == 413);
    }
    SECTION("endless chunks") {
        auto socket = world.connect();
        const std::string chunk = "400\r\n" + std::string(1024, 'x') + "\r\n";
        REQUIRE(socket.send(head + "Transfer-Encoding: chunked\r\n\r\n"));
        for (int i = 0; i < 6; ++i) REQUIRE(socket.send(chunk));
        CHECK(socket.read_reply().status == 413);
        while (socket.send(chunk)) {  // until it is reset
        }
        CHECK(closed_as(world, "body_too_large", "1"));
    }
    CHECK(world.messages() == 0);
}

TEST_CASE("oversized and malformed heads are refused with a named reason") {
    EndpointWorld world;
    auto socket = world.connect();
    SECTION("one long field") {
        socket.send("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(20'000, 'x'));
        CHECK(socket.read_reply().status == 431);
        CHECK(socket.ends_or_is_reset());
        CHECK(closed_as(world, "header_too_large", "1"));
    }
    SECTION("not HTTP") {
        socket.send("\x16\x03\x01 hello\r\n\r\n");
        const auto reply = socket.read_reply();
        const auto date = reply.head.substr(reply.head.find("Date: "), 37);
        CHECK(date.ends_with(" GMT\r\n"));
        CHECK(reply.head == "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nVary: " +
                                std::string{ingest::kVary} + "\r\n" + date +
                                "Connection: close\r\nContent-Length: " +
                                std::to_string(reply.body.size()) + "\r\n\r\n");
        CHECK(reply.body == R"({"code":400,"errno":null,"error":"Bad Request",)"
                            R"("message":"The request is not valid HTTP/1.1.",)"
                            R"("more_info":"/errors"})");
        CHECK(socket.ends());
        CHECK(closed_as(world, "bad_request", "1"));
    }
}

TEST_CASE("drippers are closed by the deadline, whatever they drip") {
    EndpointWorld world{hasty()};
    const auto path = world.subscribed();
    auto silent = world.connect();
    auto in_head = world.connect();
    auto in_body = world.connect();
    REQUIRE(in_head.send("POST / HTT"));
    REQUIRE(
        in_body.send("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc"));
    CHECK(in_head.read_reply().status == 408);
    CHECK(in_head.ends());
    CHECK(in_body.read_reply().status == 408);
    CHECK(in_body.ends());
    CHECK(silent.ends_or_is_reset());
    auto dripping = world.connect();
    REQUIRE(dripping.send("G"));
    // A byte now and then does not move the deadline.
    const auto began = world.clock_.mono();
    WireReply reply;
    pollfd wait{dripping.fd(), POLLIN, 0};
    while (::poll(&wait, 1, 20) == 0) dripping.send("E");
    reply = dripping.read_reply();
    CHECK(reply.status == 408);
    CHECK(world.clock_.mono() - began < std::chrono::seconds{5});
}

TEST_CASE("a client that pipelines and reads no reply is closed, and took at most two buffers") {
    EndpointWorld world{hasty()};
    auto socket = TestSocket::unconnected();
    const int small = 4096;
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    socket.connect(world.endpoint_->port());
    int asked = 0;
    while (asked < 1'000'000 && socket.send("GET /status HTTP/1.1\r\nHost: x\r\n\r\n")) ++asked;
    CHECK(asked < 1'000'000);  // it was reset
    CHECK(closed_as(world, "deadline", "1"));
    // The kernel held the replies; by itself it would hold 4 MB, that is 20,000 replies.
    CHECK(answered(world, "status") < 1'000);
}

TEST_CASE("an idle connection is closed after the keep-alive time") {
    EndpointWorld world{hasty()};
    auto socket = world.connect();
    REQUIRE(socket.send("GET /status HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(socket.read_reply().status == 200);
    CHECK(socket.ends());
    CHECK(closed_as(world, "keep_alive", "1"));
}

TEST_CASE("readiness knows the log") {
    ingest::EndpointConfig config;
    config.log_grace = milliseconds{50};
    EndpointWorld world{config};
    REQUIRE(world.wait_ready());
    const auto away = [&](bool yes) {
        world.log_.with([yes](log::MemoryLog& log) { log.set_away(yes); });
        return world.executor_.eventually([&] { return world.health_.report().ready != yes; });
    };
    CHECK(away(true));  // without anybody's POST
    CHECK_FALSE(world.health_.report().faults.at("log").empty());
    CHECK(away(false));
}

TEST_CASE("former origins are still accepted audiences") {
    ingest::EndpointConfig config;
    config.public_url = "https://push.example.org";
    config.former_origins = {"http://old.example.org:8082"};
    EndpointWorld world{config};
    const auto path = world.subscribed();
    make_known(world, path);
    CHECK(status_for(world, path, "https://push.example.org") == 201);
    CHECK(status_for(world, path, "http://old.example.org:8082") == 201);
    CHECK(status_for(world, path, "http://older.example.org:8082") == 401);
}

TEST_CASE("a stop answers requests that have arrived, and resets no connection") {
    EndpointWorld world{{}, std::chrono::seconds{2}};
    const auto path = world.subscribed();
    make_known(world, path);
    auto idle = world.connect();
    idle.send("GET /status HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(idle.read_reply().status == 200);
    auto waiting = world.connect();
    world.log_.with([](log::MemoryLog& log) { log.set_away(true); });
    REQUIRE(waiting.send(EndpointWorld::post(path, "data")));
    // Its request is under way once the queue shows it.
    CHECK(world.executor_.eventually([&] {
        return world.metrics_.text().find("beckon_ingest_publish_waiting_messages 1") !=
               std::string::npos;
    }));
    auto unaccepted = world.connect();
    unaccepted.send("GET /status HTTP/1.1\r\nHost: x\r\n\r\n");

    std::thread stopping{[&] { world.endpoint_.reset(); }};
    CHECK(idle.ends());
    CHECK_FALSE(world.health_.report().ready);
    world.log_.with([](log::MemoryLog& log) { log.set_away(false); });
    const auto reply = waiting.read_reply();
    CHECK(reply.status == 201);
    CHECK(waiting.ends());
    CHECK(unaccepted.read_reply().status == 200);
    idle.end_output();
    waiting.end_output();
    unaccepted.end_output();
    stopping.join();
    CHECK(world.messages() == 2);
}

TEST_CASE("a request on its way to an idle connection is answered at a stop, and is its last") {
    EndpointWorld world;
    const auto path = world.subscribed();
    make_known(world, path);
    auto socket = world.connect();
    REQUIRE(socket.send(EndpointWorld::post(path, "")));
    CHECK(socket.read_reply().head.find("Connection: close") == std::string::npos);
    world.endpoint_->begin_stop();
    REQUIRE(socket.send(EndpointWorld::post(path, "")));
    const auto reply = socket.read_reply();
    CHECK(reply.status == 201);
    CHECK(reply.head.find("\r\nConnection: close\r\n") != std::string::npos);
    CHECK(socket.ends());
    socket.end_output();
}

TEST_CASE("a stop waits for the rest of a request, and answers 503 when it does not come") {
    EndpointWorld world;
    const auto path = world.subscribed();
    make_known(world, path);
    const auto request = EndpointWorld::post(path, "data");
    auto whole = world.connect();
    auto half = world.connect();
    REQUIRE(whole.send(request.substr(0, 20)));
    REQUIRE(half.send(request.substr(0, 20)));
    CHECK(world.executor_.eventually([&] {
        return world.metrics_.text().find("beckon_ingest_open_connections 2") != std::string::npos;
    }));
    world.endpoint_->begin_stop();
    REQUIRE(whole.send(request.substr(20)));
    CHECK(whole.read_reply().status == 201);
    whole.end_output();
    CHECK(half.read_reply().status == 503);
    CHECK(half.ends());
    half.end_output();
}

TEST_CASE("an endpoint may open as many descriptors as the system lets it") {
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    auto usual = before;
    usual.rlim_cur = std::min<rlim_t>(256, before.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &usual);
    EndpointWorld world;
    rlimit now{};
    ::getrlimit(RLIMIT_NOFILE, &now);
    ::setrlimit(RLIMIT_NOFILE, &before);
    CHECK(now.rlim_cur == before.rlim_max);
}

TEST_CASE("without other descriptors the port has its own, and ends who waits longest") {
    auto config = ingest::EndpointConfig{};
    config.threads = 1;
    EndpointWorld world{config};
    auto socket = world.connect();
    socket.send("GET /status HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(socket.read_reply().status == 200);
    std::vector<TestSocket> more;
    for (int i = 0; i < 8; ++i) more.push_back(TestSocket::unconnected());
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    auto none = before;
    none.rlim_cur = static_cast<rlim_t>(more.back().fd()) + 1;
    ::setrlimit(RLIMIT_NOFILE, &none);
    for (auto& one : more) {
        one.connect(world.endpoint_->port());
        one.send("GET /status HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK(one.read_reply().status == 200);
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    CHECK(socket.ends());
    CHECK_FALSE(world.metrics_.text().find("beckon_ingest_accept_pauses_total 0") ==
                std::string::npos);
}

TEST_CASE("a port that is taken is named") {
    EndpointWorld world;
    ingest::EndpointConfig config;
    config.port = world.endpoint_->port();
    config.view_directory = world.directory_ / "other";
    config.partitions = 2;
    config.node = core::NodeId::random();
    CHECK_THROWS_WITH((ingest::Endpoint{config, world.log_, world.keys_, world.clock_,
                                        world.metrics_, world.health_}),
                      "cannot listen on 127.0.0.1 port " + std::to_string(config.port) +
                          ": the port is taken by another process");
    config.host = "no such host";
    CHECK_THROWS_WITH((ingest::Endpoint{config, world.log_, world.keys_, world.clock_,
                                        world.metrics_, world.health_}),
                      Catch::Contains("cannot listen on no such host port"));
}

TEST_CASE("without a public URL every local name of the machine is an accepted audience") {
    ingest::EndpointConfig config;
    config.host = "0.0.0.0";
    EndpointWorld world{config};
    const auto path = world.subscribed();
    make_known(world, path);
    const auto port = std::to_string(world.endpoint_->port());
    CHECK(world.endpoint_->origin() == "http://localhost:" + port);
    CHECK(status_for(world, path, "http://localhost:" + port) == 201);
    CHECK(status_for(world, path, "http://127.0.0.1:" + port) == 201);
    CHECK(status_for(world, path, "http://[::1]:" + port) == 201);
    CHECK(status_for(world, path, "http://[::1]") ==
          201);  // some sender libraries leave out the port
    CHECK(status_for(world, path, "https://localhost:" + port) == 401);
    CHECK(status_for(world, path, "http://localhost:1") == 401);
}
