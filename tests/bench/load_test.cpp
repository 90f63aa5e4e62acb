#include "bench/load/generator.hpp"
#include "bench/load/histogram.hpp"
#include "bench/load/ledger.hpp"
#include "bench/load/process_stats.hpp"
#include "bench/load/wire.hpp"
#include "core/base64url.hpp"
#include "support/fake_push_server.hpp"
#include "support/test_socket.hpp"

#include <algorithm>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <unistd.h>

using namespace beckon;
using namespace beckon::bench;
using namespace std::chrono_literals;
using test::FakePushServer;

namespace {

GeneratorOptions options_for(const FakePushServer& server) {
    GeneratorOptions options;
    options.url = client::parse_url(server.ws_url()).value();
    options.senders = 4;
    options.rest_for = 10ms;
    return options;
}

const Span kShort{.warm_up = 20ms, .measured = 200ms};

}  // namespace

TEST_CASE("quantiles are exact below 64 ns and within 1.6 % above") {
    Histogram histogram;
    CHECK(histogram.at(0.5) == 0);
    for (int ns = 1; ns <= 50; ++ns) histogram.record(ns);
    CHECK(histogram.at(0.5) == 25);
    CHECK(histogram.at(1.0) == 50);
    const auto value =
        GENERATE(values<std::int64_t>({64, 1'000, 123'456, 7'000'000, 3'000'000'000}));
    Histogram one;
    one.record(value);
    one.record(value * 2);
    CHECK(one.at(0.5) >= value);
    CHECK(static_cast<double>(one.at(0.5)) <= static_cast<double>(value) * 1.016);
    CHECK(one.max() == value * 2);
    CHECK(one.mean() == Approx(static_cast<double>(value) * 1.5));
}

TEST_CASE("a frame is read when it is complete, and not before") {
    const auto size = GENERATE(0U, 1U, 125U, 126U, 700U, 65'535U, 65'536U);
    std::string frame{"\x81", 1};
    if (size < 126) {
        frame += static_cast<char>(size);
    } else if (size <= 65'535) {
        frame += {126, static_cast<char>(size >> 8), static_cast<char>(size & 0xff)};
    } else {
        frame += {127, 0, 0, 0, 0, 0, 1, 0, 0};
    }
    frame += std::string(size, 'x');
    for (std::size_t part : {std::size_t{0}, std::size_t{1}, std::size_t{2}, frame.size() - 1}) {
        if (part < frame.size()) CHECK_FALSE(parse_frame(std::string_view{frame}.substr(0, part)));
    }
    const std::string two = frame + frame;
    const auto parsed = parse_frame(two);
    REQUIRE(parsed);
    CHECK(parsed->opcode == Opcode::text);
    CHECK(parsed->payload == std::string(size, 'x'));
    CHECK(parsed->size == frame.size());
}

TEST_CASE("a field is found by its name alone, not by a value or a longer name") {
    const std::string frame =
        R"({"messageType":"version","myversion":"no","version" : "yes","n":5,"headers":{"a":"b"}})";
    CHECK(json_text(frame, "version") == "yes");
    CHECK(json_text(frame, "messageType") == "version");
    CHECK(json_text(frame, "a") == "b");
    CHECK_FALSE(json_text(frame, "n"));
    CHECK_FALSE(json_text(frame, "absent"));
    CHECK_FALSE(json_text(R"({"version":"cut)", "version"));
}

TEST_CASE("replies are taken apart, pipelined ones too") {
    const std::string created =
        "HTTP/1.1 201 Created\r\nlocation: /m/1\r\nContent-Length: 0\r\n\r\n";
    const std::string gone =
        "HTTP/1.1 410 Gone\r\nCONTENT-LENGTH: 2\r\nConnection: close\r\n\r\n{}";
    const std::string chunked =
        "HTTP/1.1 503 x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    const std::string all = created + gone + chunked;
    HttpReply reply;
    REQUIRE(parse_reply(all, reply) == ReplyState::complete);
    CHECK(reply.status == 201);
    CHECK(reply.size == created.size());
    REQUIRE(parse_reply(all.substr(created.size()), reply) == ReplyState::complete);
    CHECK(reply.status == 410);
    CHECK_FALSE(reply.keep_alive);
    CHECK(reply.size == gone.size());
    REQUIRE(parse_reply(chunked, reply) == ReplyState::complete);
    CHECK(reply.size == chunked.size());
    for (std::size_t part = 0; part < chunked.size(); ++part) {
        CHECK(parse_reply(chunked.substr(0, part), reply) == ReplyState::incomplete);
    }
    CHECK(parse_reply("SSH-2.0-x\r\n\r\n", reply) == ReplyState::broken);
}

TEST_CASE("a stamped body names its message after base64url") {
    const Token token{.run = 0xdeadbeef, .sequence = 0x01020304};
    std::string body(300, '\xff');
    stamp(body.data(), token);
    CHECK(read_stamp(core::base64url(body)) == token);
    CHECK_FALSE(read_stamp("short"));
    CHECK_FALSE(read_stamp("***********"));
}

TEST_CASE("the ledger follows messages whatever the order of their events") {
    Ledger ledger{7};
    ledger.issue(0);  // before the measuring: not counted
    ledger.start();
    const auto frame_first = ledger.issue(100);
    const auto reply_first = ledger.issue(200);
    const auto lost = ledger.issue(300);
    const auto refused = ledger.issue(400);
    const auto cut = ledger.issue(500);
    CHECK(ledger.delivered({7, frame_first}, 150));
    ledger.answered(frame_first, 201, 160);
    ledger.answered(reply_first, 201, 250);
    CHECK(ledger.delivered({7, reply_first}, 260));
    CHECK_FALSE(ledger.delivered({7, reply_first}, 270));
    ledger.answered(lost, 201, 310);
    ledger.answered(refused, 503, 410);
    ledger.unanswered(cut);
    CHECK_FALSE(ledger.delivered({8, lost}, 600));
    CHECK(ledger.unreplied() == 1);    // the first one
    CHECK(ledger.undelivered() == 2);  // that and the lost one
    const auto tally = ledger.result();
    CHECK(tally.posted == 5);
    CHECK(tally.accepted == 3);
    CHECK(tally.delivered == 2);
    CHECK(tally.missing == 1);
    CHECK(tally.duplicates == 1);
    CHECK(tally.foreign == 1);
    CHECK(tally.unanswered == 1);
    CHECK(tally.refused == std::map<int, std::uint64_t>{{503, 1}});
    CHECK(tally.to_frame.max() == 60);
    CHECK(tally.to_reply.max() == 60);
    CHECK(tally.after_reply.count() == 2);
    CHECK(tally.after_reply.max() == 10);
    REQUIRE(tally.slowest.size() == 2);
    CHECK(tally.slowest.back().to_frame == 60);
}

TEST_CASE("a process is sampled by name and number") {
    const auto self = std::to_string(getpid());
    CHECK(parse_process("me=" + self).value().name == "me");
    CHECK(parse_process(self).value().name == "bench_test");
    CHECK_FALSE(parse_process("x"));
    CHECK_FALSE(parse_process("broker=0"));
    const auto sample = sample_process(getpid()).value();
    CHECK(sample.rss_bytes > 1'000'000);
    CHECK(sample.pss_bytes > 100'000);
    CHECK(sample.pss_bytes <= sample.rss_bytes);
    CHECK(sample.cpu_s <= own_cpu_s() + 0.02);
}

TEST_CASE("at a rate every message is delivered and acknowledged") {
    const bool tls = GENERATE(false, true);
    FakePushServer server{{.tls = tls}};
    Generator generator{options_for(server)};
    REQUIRE(generator.open(5));
    const auto traffic = generator.at_rate(200, kShort).value();
    CHECK(traffic.tally.posted == 40);
    CHECK(traffic.tally.accepted == 40);
    CHECK(traffic.tally.delivered == 40);
    CHECK(traffic.tally.missing == 0);
    CHECK(traffic.tally.duplicates == 0);
    CHECK(traffic.tally.to_frame.count() == 40);
    CHECK(traffic.clients_lost == 0);
}

TEST_CASE("clients that reconnect say who they are, and keep their channels") {
    FakePushServer server;
    auto options = options_for(server);
    options.reconnect_to = options.url;
    Generator generator{options};
    REQUIRE(generator.open(3));
    const auto frames_with = [frames = server.frames()](const std::string& text) {
        return std::count_if(frames.begin(), frames.end(), [&](const std::string& frame) {
            return frame.find(text) != std::string::npos;
        });
    };
    CHECK(frames_with(R"("messageType":"hello")") == 6);
    CHECK(frames_with(R"("uaid":")") == 3);
    CHECK(frames_with(R"("messageType":"register")") == 3);
    CHECK(generator.at_rate(200, kShort).value().tally.delivered == 40);
}

TEST_CASE("a connection that had nothing to do for long is opened anew before a POST") {
    FakePushServer server;
    auto options = options_for(server);
    options.reuse_for = 100ms;
    Generator generator{options};
    REQUIRE(generator.open(2));
    std::this_thread::sleep_for(150ms);
    const auto opened = 2 + options.senders;
    while (server.connections() < opened) std::this_thread::sleep_for(1ms);
    const auto traffic = generator.at_rate(100, kShort).value();
    CHECK(traffic.tally.posted == 20);
    CHECK(traffic.tally.delivered == 20);
    // The pause makes each of those anew that a POST went into; the POSTs 10 ms apart none.
    CHECK(server.connections() > opened);
    CHECK(server.connections() <= opened + options.senders);
}

TEST_CASE("saturating keeps the senders busy, pipelined or not") {
    FakePushServer server;
    auto options = options_for(server);
    options.pipeline = GENERATE(1U, 3U);
    Generator generator{options};
    REQUIRE(generator.open(5));
    const auto traffic = generator.saturated(kShort, 1'000).value();
    CHECK(traffic.tally.frames > 20);
    CHECK(traffic.tally.missing == 0);
    CHECK(traffic.tally.posted == traffic.tally.accepted);
}

TEST_CASE("refusals, lost and doubled messages are counted apart") {
    FakePushServer server;
    Generator generator{[&] {
        auto options = options_for(server);
        options.patience = 100ms;
        return options;
    }()};
    REQUIRE(generator.open(2));
    server.deliver_twice();
    server.answer_next_post({503, {}, ""});
    server.answer_next_post({201, {}, ""});  // accepted, but never delivered
    const auto traffic = generator.at_rate(100, {.warm_up = 0ms, .measured = 100ms}).value();
    CHECK(traffic.tally.posted == 10);
    CHECK(traffic.tally.refused == std::map<int, std::uint64_t>{{503, 1}});
    CHECK(traffic.tally.accepted == 9);
    CHECK(traffic.tally.missing == 1);
    CHECK(traffic.tally.duplicates >= 7);
}

TEST_CASE("a drain counts what waited for the client") {
    FakePushServer server;
    Generator generator{options_for(server)};
    REQUIRE(generator.open(2));
    const auto round = generator.drain(1, 50).value();
    CHECK(round.messages == 50);
    CHECK(round.from_hello_ms > 0);
    CHECK(round.from_connect_ms >= round.from_hello_ms);
    CHECK(generator.drain(2, 50).value().messages == 100);  // and again, both
    CHECK_THAT(generator.drain(2, 500'000).error().message, Catch::Contains("at most 524288"));
}

TEST_CASE("idle connections are opened and a process is weighed") {
    FakePushServer server;
    auto options = options_for(server);
    options.processes = {{"me", getpid()}};
    Generator generator{options};
    const auto memory = generator.idle(100, false).value();
    CHECK(memory.connections == 100);
    REQUIRE(memory.processes.size() == 1);
    CHECK(memory.processes[0].after.rss_bytes >= memory.processes[0].before.rss_bytes);
}

TEST_CASE("a server that cannot be reached is an error that names it") {
    const test::RefusingPort nobody;
    auto options = options_for(FakePushServer{});
    options.url = client::parse_url("ws://" + nobody.address() + "/").value();
    Generator generator{options};
    CHECK_THAT(generator.open(1).error().message,
               Catch::Contains("could not connect to ws://127.0.0.1"));
    GeneratorOptions small = options;
    small.body_bytes = 10;
    CHECK_THAT(Generator{small}.open(1).error().message, Catch::Contains("at least 103"));
    CHECK_THAT(Generator{options}.open(100'000'000).error().message, Catch::Contains("ulimit -n"));
}
