#include "retry/attempt/http_sender.hpp"

#include "core/contain.hpp"
#include "retry/attempt/attempt_outcome.hpp"
#include "retry/attempt/request_target.hpp"
#include "retry/attempt/scripted_server.hpp"
#include "retry/attempt/sending.hpp"
#include "support/certificate.hpp"
#include "support/temp_dir.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include <catch2/catch.hpp>
#include <openssl/ssl.h>

using namespace std::chrono_literals;
using namespace beckon;
using End = retry::HttpAnswer::End;
using Peer = test::ScriptedServer::Peer;
using retry::HttpAnswer;
using retry::HttpRequest;
using retry::Outcome;
using retry::Verdict;
using test::open_guard;
using test::send;
using test::send_in_turn;

namespace {

HttpAnswer send_to(test::ScriptedServer& server, core::Duration timeout = 10s) {
    return send({.url = server.url("/hook"),
                 .headers = {"X-Test: 1"},
                 .body = "{\"a\":1}",
                 .timeout = timeout});
}

/// Answers each request.
void answer_all(Peer& peer) {
    while (!peer.read_request().empty()) peer.answer("200 OK");
}

/// A receiver that remembers the last request.
struct Recorder {
    std::string seen;
    test::ScriptedServer server{[this](Peer& peer) {
        seen = peer.read_request();
        peer.answer("204 No Content");
    }};
};

/// A receiver's side of TLS, with a certificate of its own, which is also what it trusts.
struct Tls {
    explicit Tls(const std::string& name) {
        test::write_certificate(certificate, key, name);
        std::signal(SIGPIPE, SIG_IGN);  // a side may end the handshake that the other one answers
        REQUIRE(SSL_CTX_use_certificate_file(context.get(), certificate.c_str(),
                                             SSL_FILETYPE_PEM) == 1);
        REQUIRE(SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) == 1);
        REQUIRE(SSL_CTX_load_verify_locations(context.get(), certificate.c_str(), nullptr) == 1);
    }
    void answer(Peer& peer) const {
        const std::unique_ptr<SSL, decltype(&SSL_free)> tls{SSL_new(context.get()), &SSL_free};
        SSL_set_fd(tls.get(), peer.fd());
        if (SSL_accept(tls.get()) != 1) return;
        char bytes[4096];
        if (SSL_read(tls.get(), bytes, sizeof bytes) <= 0) return;
        constexpr std::string_view kAnswer = "HTTP/1.1 204 No Content\r\n\r\n";
        SSL_write(tls.get(), kAnswer.data(), static_cast<int>(kAnswer.size()));
    }

    test::TempDir directory;
    const std::filesystem::path certificate = directory.path() / "certificate.pem";
    const std::filesystem::path key = directory.path() / "key.pem";
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context{
        SSL_CTX_new(TLS_server_method()), &SSL_CTX_free};
};

/// An answer that begins, and then repeats a piece for ever.
struct EndlessAnswer {
    std::string what;
    std::string begin;
    std::string piece;
};

/// Some 60 MB a second, until the other side closes. Thus little waits in the buffers of the
/// kernel, and `sent`, in bytes, is nearly what has been read.
void send_answer(Peer& peer, const EndlessAnswer& answer, std::atomic<std::size_t>& sent) {
    std::string pieces;
    while (pieces.size() < 60'000) pieces += answer.piece;
    peer.write(answer.begin);
    while (peer.write(pieces)) {
        sent += pieces.size();
        std::this_thread::sleep_for(1ms);
    }
}

}  // namespace

TEST_CASE("a request arrives as it was made, and its answer comes back", "[retry][http]") {
    Recorder to;
    auto& [seen, server] = to;
    const auto answer = send_to(server);
    CHECK(answer.end == End::answered);
    CHECK(answer.status == 204);
    CHECK(seen.starts_with("POST /hook HTTP/1.1\r\n"));
    CHECK(seen.find("\r\nX-Test: 1\r\n") != std::string::npos);
    CHECK(seen.ends_with("\r\n\r\n{\"a\":1}"));
    CHECK(seen.find("Expect") == std::string::npos);
    send({.url = server.url(), .method = retry::Method::put, .headers = {}, .body = "x"});
    CHECK(seen.starts_with("PUT / HTTP/1.1\r\n"));
}

// Fails where one text stands for every fault of a certificate.
TEST_CASE("the reason of an attempt says what is wrong with a certificate", "[retry][http]") {
    const Tls tls{"other.example"};
    test::ScriptedServer server{[&](Peer& peer) { tls.answer(peer); }};
    const auto why = [&](const std::string& trusted) {
        const auto answer = send({.url = "https" + server.url("/hook").substr(4), .timeout = 10s},
                                 {.guard = open_guard(), .ca_file = trusted});
        CHECK(answer.end == End::unreachable);
        return answer.why;
    };
    CHECK_THAT(why(""), Catch::Contains("self") && Catch::Contains("signed certificate"));
    CHECK_THAT(why(tls.certificate.string()), Catch::Contains("target host name '127.0.0.1'"));
}

TEST_CASE("receivers that ask for a certificate get it, if their host is to have it",
          "[retry][http]") {
    const Tls tls{"localhost"};  // the same certificate is the client's
    SSL_CTX_set_verify(tls.context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                       nullptr);
    test::ScriptedServer server{[&](Peer& peer) { tls.answer(peer); }};
    const auto port = server.url("").substr(server.url("").rfind(':'));
    const auto status = [&](const std::vector<std::string>& hosts, bool given = true) {
        retry::HttpSender::Options options{
            .guard = open_guard(), .ca_file = tls.certificate.string(), .look_up = [](const auto&) {
                return retry::NameLookups::Addresses{"127.0.0.1"};
            }};
        if (given) options.client_certificate = tls.certificate.string();
        if (given) options.client_key = tls.key.string();
        options.client_certificate_hosts = *retry::HostList::of(hosts);
        return send({.url = "https://localhost" + port + "/", .timeout = 10s}, std::move(options))
            .status;
    };
    CHECK(status({}) == 204);
    CHECK(status({"localhost"}) == 204);
    CHECK(status({"other.example"}) == 0);
    CHECK(status({}, false) == 0);
}

TEST_CASE("the reason of an attempt that took too long says what was missing", "[retry][http]") {
    test::ScriptedServer server{[](Peer& peer) {
        peer.read_request();
        peer.read_request();
    }};
    const auto answer = send_to(server, 300ms);
    CHECK(answer.end == End::timed_out);
    CHECK(answer.took >= 300ms);
    CHECK(answer.took < 5s);
    CHECK(answer.why == "a connection was made, but no complete answer came in time");
}

// Fails where only a new connection counts as one.
TEST_CASE("a receiver that hangs on a kept connection is not said to be out of reach",
          "[retry][http]") {
    test::ScriptedServer server{[](Peer& peer) {
        peer.read_request();
        peer.answer("200 OK");
        peer.hang();
    }};
    const auto answers =
        send_in_turn({.url = server.url(), .headers = {}, .body = "x", .timeout = 500ms}, 2);
    CHECK(answers[0].status == 200);
    CHECK(server.connections() == 1);
    CHECK(answers[1].end == End::timed_out);
    CHECK(answers[1].why == "a connection was made, but no complete answer came in time");
}

TEST_CASE("nothing with a control character reaches the receiver", "[retry][http]") {
    test::ScriptedServer server{answer_all};
    const auto smuggled =
        std::string(70, 'k') + "\"\r\nContent-Length: 0\r\n\r\nPOST /other HTTP/1.1";
    const auto with_header = [&](std::string header) {
        return HttpRequest{.url = server.url(), .headers = {std::move(header)}, .body = "x"};
    };
    std::vector<HttpRequest> bad{with_header("Authorization: Signature keyId=\"" + smuggled),
                                 with_header("X: a\nb"),
                                 with_header(std::string{"X: a\0b", 6}),
                                 with_header("X: \x7f"),
                                 with_header("no name"),
                                 with_header("a b: c"),
                                 with_header(": c")};
    bad.push_back({.url = server.url("/a\r\nb"), .headers = {}, .body = ""});
    bad.push_back({.url = server.url(), .headers = {}, .body = "", .target = "/a\r\n"});
    bad.push_back({.url = server.url(), .headers = {}, .body = "", .target = "/a HTTP/1.1"});
    for (auto& request : bad) {
        const auto answer = send(std::move(request));
        CHECK(answer.end == End::unsendable);
        CHECK_FALSE(answer.why.empty());
        CHECK(verdict_of(answer).outcome == Outcome::undeliverable);
    }
    CHECK(server.connections() == 0);
    CHECK(send(with_header("X-Text: \xc3\xbc{\"}")).status == 200);
    net::IoLoop loop;
    CHECK_THROWS(retry::HttpSender{{.guard = open_guard(), .user_agent = "a\nb"}, loop});
}

TEST_CASE("a request says Host and target as its maker signed them", "[retry][http]") {
    Recorder to;
    auto& [seen, server] = to;
    send({.url = server.url("/a/../b"),
          .headers = {"Host: xn--bcher-kva.example"},
          .body = "x",
          .target = "/signed?a=1"});
    CHECK(seen.starts_with("POST /signed?a=1 HTTP/1.1\r\n"));
    CHECK(seen.find("\r\nHost: xn--bcher-kva.example\r\n") != std::string::npos);
    CHECK(seen.find("127.0.0.1") == std::string::npos);
}

TEST_CASE("the target of a URL is what libcurl sends for it", "[retry][http]") {
    using Target = retry::RequestTarget;
    const auto of = [](const std::string& url) { return *retry::request_target(url); };
    CHECK(of("https://example.org:443/hook?x=1") == Target{"example.org", "/hook?x=1"});
    CHECK(of("http://example.org:80") == Target{"example.org", "/"});
    CHECK(of("http://example.org:443/") == Target{"example.org:443", "/"});
    CHECK(of("https://b\xc3\xbc"
             "cher.example:8443/")
              .host == "xn--bcher-kva.example:8443");
    CHECK(retry::in_ascii("https://b\xc3\xbc"
                          "cher.example/a?b") == "https://xn--bcher-kva.example/a?b");
    CHECK(retry::in_ascii("::\xc3") == "::\xc3");
    CHECK(retry::in_ascii("http://[::1]:80/a?b=\xc3\xbc") == "http://[::1]/a?b=%C3%BC");
    CHECK(of("http://[::1]:8080/") == Target{"[::1]:8080", "/"});
    CHECK_FALSE(retry::request_target("::"));
    // Each of them, as it really arrives.
    Recorder to;
    auto& [seen, server] = to;
    for (const auto* path : {"/", "", "/a/../b?c=/../d", "/\xc3\xbc?\xc3\xbc", "/a%20b?", "/?a?b",
                             "/?name=J\xc3\xbcrgen&f[x]=\"{%zz%20}\"", "/a|b^`\\<c>"}) {
        CAPTURE(path);
        const auto url = server.url(path);
        REQUIRE(send({.url = url, .headers = {}, .body = ""}).end == End::answered);
        const auto target = of(url);
        CHECK(seen.starts_with("POST " + target.path + " HTTP/1.1\r\n"));
        const auto line = seen.substr(0, seen.find("\r\n"));
        CHECK(
            line.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "-._~!$&'()*+,;=:@/?% ") == std::string::npos);
        CHECK(seen.find("\r\nHost: " + target.host + "\r\n") != std::string::npos);
    }
}

TEST_CASE("a redirect is an answer and is not followed", "[retry][http]") {
    test::ScriptedServer server{[](Peer& peer) {
        peer.read_request();
        peer.answer("302 Found", "Location: http://127.0.0.1:1/\r\n");
    }};
    const auto answer = send_to(server);
    CHECK(answer.status == 302);
    CHECK(verdict_of(answer).outcome == Outcome::refused);
    CHECK(retry::why_text(answer) ==
          "it redirects to http://127.0.0.1:1/; redirects are not followed: give the webhook that "
          "URL");
    CHECK(server.connections() == 1);
}

TEST_CASE("a host that drips cannot outlive the time-out", "[retry][http]") {
    test::ScriptedServer server{[](Peer& peer) {
        peer.read_request();
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        while (peer.write("x")) peer.wait_readable(40);
    }};
    const auto answer = send_to(server, 400ms);
    CHECK(answer.end == End::timed_out);
}

TEST_CASE("a host that sends without end is cut off", "[retry][http]") {
    test::ScriptedServer server{[](Peer& peer) {
        peer.read_request();
        peer.write("HTTP/1.1 200 OK\r\n\r\n");
        while (peer.write(std::string(65'536, 'x'))) {
        }
    }};
    const auto answer = send_to(server);
    CHECK(answer.end == End::too_large);
    CHECK(answer.body.size() == retry::HttpAnswer::kBodyKept);
}

TEST_CASE("an answer that says it is too large is not read", "[retry][http]") {
    test::ScriptedServer server{[](Peer& peer) {
        peer.read_request();
        constexpr std::size_t kBytes = std::size_t{64} << 20;
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kBytes) + "\r\n\r\n");
        peer.write(std::string(2'000, 'x'));
        peer.hang();  // the rest never comes: it is cut off at the first bytes
    }};
    const auto answer = send_to(server);
    CHECK(answer.end == End::too_large);
    CHECK(answer.body.size() == retry::HttpAnswer::kBodyKept);
}

TEST_CASE("an answer whose length is not certain is none", "[retry][http]") {
    const auto to = [](const std::string& head) {
        test::ScriptedServer server{[&](Peer& peer) {
            if (peer.read_request().empty()) return;
            peer.write(head + "\r\n\r\nok");
        }};
        return send_to(server);
    };
    const std::string ok = "HTTP/1.1 200 OK\r\n";
    for (const auto* length : {"Content-Length: 2\r\nContent-Length: 1", "content-length: 2, 3",
                               "Content-Length: 2x", "Content-Length: +2", "Content-Length: 2,"}) {
        CAPTURE(length);
        const auto answer = to(ok + length);
        CHECK(answer.end == End::unreachable);
        CHECK(answer.why == "the answer's Content-Length is no number, or two of them differ");
    }
    for (const auto* length : {"Content-Length: 2\r\nContent-Length: 2", "CONTENT-LENGTH:2 , 2",
                               "Content-Length-Of-Mine: x\r\nContent-Length: 2"}) {
        CAPTURE(length);
        const auto answer = to(ok + length);
        CHECK(answer.end == End::answered);
        CHECK(answer.body == "ok");
    }
    // An interim answer says nothing about the length of the final one.
    CHECK(to("HTTP/1.1 103 Hints\r\nContent-Length: 9\r\n\r\n" + ok + "Content-Length: 2").body ==
          "ok");
    CHECK(to("HTTP/7.1 200 OK").why == "the answer is none of HTTP/1.1 or HTTP/2");
}

TEST_CASE("headers without end are cut off", "[retry][http]") {
    test::ScriptedServer server{[](Peer& peer) {
        peer.read_request();
        peer.write("HTTP/1.1 200 OK\r\n");
        while (peer.write("X-More: " + std::string(1'000, 'x') + "\r\n")) {
        }
    }};
    CHECK(send_to(server).end == End::too_large);
}

TEST_CASE("bytes that are neither headers nor body are cut off too", "[retry][http][bounds]") {
    const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const std::string zipped = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n";
    const std::string name_of_gzip{"\x1f\x8b\x08\x08\0\0\0\0\0\x03", 10};
    std::vector<EndlessAnswer> answers{
        {"one chunk extension", chunked + "1;", "a"},
        {"an extension of every chunk", chunked, "1;" + std::string(8'000, 'a') + "\r\nx\r\n"},
        {"trailers", chunked + "0\r\n", "X-More: " + std::string(100, 'x') + "\r\n"},
        {"one status line", "HTTP/1.1 200 ", "x"},
        {"one header line", "HTTP/1.1 200 OK\r\nX-More: ", "x"},
        {"answers before the answer", "", "HTTP/1.1 103 Early Hints\r\nX: x\r\n\r\n"},
        {"the name of a compressed file", zipped + name_of_gzip, "n"},
    };
    for (const auto& one : answers) {
        CAPTURE(one.what);
        std::atomic<std::size_t> sent = 0;
        test::ScriptedServer server{[&](Peer& peer) {
            peer.read_request();
            send_answer(peer, one, sent);
        }};
        const auto answer = send_to(server, 4s);
        CHECK(answer.end == End::too_large);
        CHECK(answer.took < 3s);
        // Besides the bound: the reads that are not counted, and what the buffers of the kernel
        // hold.
        CHECK(sent < 16 * retry::HttpSender::kReceivedBytesMax);
        CHECK(verdict_of(answer).outcome == Outcome::too_large);
    }
}

TEST_CASE("a connection that carries many large answers is counted for each of them alone",
          "[retry][http][bounds]") {
    constexpr std::size_t kAnswers = 12;
    // 4,000 chunks of 64 bytes: below the bound of a body, and many reads of the socket.
    std::string body;
    for (int i = 0; i < 4'000; ++i) body += "40;\r\n" + std::string(64, 'x') + "\r\n";
    test::ScriptedServer server{[&](Peer& peer) {
        peer.write_at_once();
        while (!peer.read_request().empty()) {
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            for (std::size_t at = 0; at < body.size(); at += 4'096) {
                peer.write(std::string_view{body}.substr(at, 4'096));
                std::this_thread::sleep_for(100us);
            }
            peer.write("0\r\n\r\n");
        }
    }};
    const HttpRequest request{.url = server.url(), .headers = {}, .body = "x"};
    for (const auto& answer : send_in_turn(request, kAnswers)) CHECK(answer.end == End::answered);
    CHECK(server.connections() == 1);
    CHECK(body.size() * kAnswers > 2 * retry::HttpSender::kReceivedBytesMax);
}

TEST_CASE("a connection on which too much has come is not used again", "[retry][http][bounds]") {
    const bool http2 = GENERATE(false, true);  // it finds the attempts of a connection otherwise
    CAPTURE(http2);
    const EndlessAnswer endless{"one chunk extension",
                                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "a"};
    std::atomic<int> requests = 0;
    std::atomic<std::size_t> sent = 0;
    test::ScriptedServer server{[&](Peer& peer) {
        while (!peer.read_request().empty()) {
            if (++requests == 2) return send_answer(peer, endless, sent);
            peer.answer("200 OK");
        }
    }};
    std::vector<End> ends;
    const auto answers =
        send_in_turn({.url = server.url(), .headers = {}, .body = "x", .timeout = 4s}, 3,
                     {.guard = open_guard(), .http2 = http2});
    for (const auto& answer : answers) ends.push_back(answer.end);
    CHECK(ends == std::vector{End::answered, End::too_large, End::answered});
    CHECK(server.connections() == 2);
}

TEST_CASE("a host that resets is unreachable", "[retry][http]") {
    test::ScriptedServer server{[](Peer& peer) {
        peer.read_request();
        peer.reset();
    }};
    const auto answer = send_to(server);
    CHECK(answer.end == End::unreachable);
    CHECK_FALSE(answer.why.empty());
}

TEST_CASE("a port on which nobody listens is unreachable", "[retry][http]") {
    CHECK(send({.url = "http://127.0.0.1:1/", .headers = {}, .body = ""}).end == End::unreachable);
}

TEST_CASE("an address that leads inside is refused at the connect", "[retry][http]") {
    test::ScriptedServer server{[](Peer& peer) { peer.hang(); }};
    const auto port = server.url().substr(std::string{"http://127.0.0.1"}.size());
    for (const auto* host : {"127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::ffff:7f00:1]"}) {
        CAPTURE(host);
        const auto answer = send(
            {.url = "http://" + std::string{host} + port, .headers = {}, .body = "", .timeout = 5s},
            retry::HttpSender::Options{});
        CHECK(answer.end == End::forbidden);
        CHECK(answer.why.starts_with("leads to an address that is not allowed: "));
    }
    CHECK(server.connections() == 0);
}

TEST_CASE("a host that the operator has named may have a private address", "[retry][http]") {
    test::ScriptedServer server{answer_all};
    const auto port = server.url().substr(server.url().rfind(':'));
    const auto ask = [&](const std::string& host, const std::vector<std::string>& inside) {
        return send({.url = "http://" + host + port, .headers = {}, .body = "x"},
                    {.inside = *retry::HostList::of(inside)});
    };
    CHECK(ask("localhost", {"localhost"}).status == 200);
    CHECK(ask("LOCALHOST", {"localhost"}).status == 200);
    CHECK(ask("localhost", {"other.internal"}).end == End::forbidden);
    CHECK(ask("localhost", {}).end == End::forbidden);
    CHECK(ask("127.0.0.1", {"localhost"}).end == End::forbidden);
    CHECK(server.connections() == 2);
}

TEST_CASE("a proxy gets every request but those to hosts inside", "[retry][http]") {
    std::vector<std::string> seen;
    test::ScriptedServer proxy{[&](Peer& peer) {
        seen.push_back(peer.read_request());
        peer.answer(seen.back().starts_with("CONNECT") ? "403 Forbidden" : "204 No Content");
    }};
    const retry::HttpSender::Options options{.inside = *retry::HostList::of({"localhost"}),
                                             .proxy = proxy.url()};
    const auto ask = [&](const std::string& url) {
        return send({.url = url, .headers = {"X-Secret: 1"}, .body = "x"}, options);
    };
    CHECK(ask("http://receiver.example/hook").status == 204);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].starts_with("POST http://receiver.example/hook HTTP/1.1\r\n"));

    const auto refused = ask("https://receiver.example/hook");
    CHECK(refused.end == End::unreachable);
    CHECK(refused.why == "the proxy (retry.proxy) answered 403");
    REQUIRE(seen.size() == 2);
    CHECK(seen[1].starts_with("CONNECT receiver.example:443 "));
    CHECK(seen[1].find("X-Secret") == std::string::npos);

    const auto inside = ask("http://10.0.0.1/");
    CHECK(inside.end == End::forbidden);
    CHECK(inside.why == "leads to an address that is not allowed: private");
    test::ScriptedServer direct{answer_all};
    CHECK(ask("http://localhost" + direct.url().substr(direct.url().rfind(':'))).status == 200);
    CHECK(seen.size() == 2);
}

TEST_CASE("other schemes than http and https are not spoken", "[retry][http]") {
    for (const auto* url : {"file:///etc/passwd", "gopher://127.0.0.1/", "ftp://127.0.0.1/", ""}) {
        CAPTURE(url);
        CHECK(send({.url = url, .headers = {}, .body = ""}).end == End::unreachable);
    }
}

TEST_CASE("between answers that come at once the loop has other turns", "[retry][http][bounds]") {
    constexpr int kRequests = 60;
    const auto each = GENERATE(0us, 400us);  // what the owner of an answer does with it
    CAPTURE(each.count());
    std::atomic<int> asked = 0;
    std::atomic<int> answered = 0;
    test::ScriptedServer server{[&](Peer& peer) {
        if (peer.read_request().empty()) return;
        ++asked;
        while (asked < kRequests) std::this_thread::yield();
        peer.answer("200 OK");
        ++answered;
        peer.hang();
    }};
    net::IoLoop loop;
    retry::HttpSender sender{{.guard = open_guard()}, loop};
    int answers = 0;
    int before = 0;
    int most = 0;  // between two turns of another task
    const std::function<void()> other = [&] {
        most = std::max(most, answers - std::exchange(before, answers));
        // All answers are there before the loop looks at the first of them.
        if (asked == kRequests) {
            while (answered < kRequests) std::this_thread::yield();
        }
        if (answers < kRequests) loop.post(other);
    };
    loop.post([&] {
        for (int i = 0; i < kRequests; ++i) {
            sender.send({.url = server.url(), .headers = {}, .body = "x"},
                        [&](const HttpAnswer& a) {
                            CHECK(a.status == 200);
                            const auto until = std::chrono::steady_clock::now() + each;
                            while (std::chrono::steady_clock::now() < until) continue;
                            if (++answers == kRequests) loop.stop();
                        });
        }
        other();
    });
    loop.run("retry");
    CHECK(answers == kRequests);
    CHECK(most <= (each > 0us ? 2 : 16));
}

TEST_CASE("an exception of a task, a timer or an answer ends it alone", "[retry][loop]") {
    test::ScriptedServer server{answer_all};
    net::IoLoop loop;
    retry::HttpSender sender{{.guard = open_guard()}, loop};
    const auto before = core::thrown_by_place()["retry"];
    int answers = 0;
    loop.post([] { throw std::runtime_error("a task"); });
    loop.post_after(1ms, [] { throw std::runtime_error("a timer"); });
    loop.post_after(2ms, [&] {
        for (int i = 0; i < 5; ++i) {
            sender.send({.url = server.url(), .headers = {}, .body = ""}, [&](const HttpAnswer&) {
                if (++answers == 5) loop.stop();
                throw std::runtime_error("an answer");
            });
        }
    });
    loop.run("retry");
    CHECK(answers == 5);
    CHECK(core::thrown_by_place()["retry"] == before + 7);
}

TEST_CASE("a sender that goes answers nothing more", "[retry][http]") {
    test::ScriptedServer server{[](Peer& peer) { peer.hang(); }};
    net::IoLoop loop;
    bool answered = false;
    {
        retry::HttpSender sender{{.guard = open_guard()}, loop};
        sender.send({.url = server.url(), .headers = {}, .body = ""},
                    [&](const HttpAnswer&) { answered = true; });
        loop.post_after(100ms, [&] { loop.stop(); });
        loop.run("retry");
    }
    CHECK_FALSE(answered);
}

TEST_CASE("the reason of a failed attempt is a short text, of a redirect with its target",
          "[retry][http]") {
    HttpAnswer answer{.end = End::answered, .status = 308, .location = std::string(5'000, 'x')};
    CHECK(retry::why_text(answer).size() == retry::kWhyBytesMax);
    CHECK(retry::why_text(answer).ends_with("give the webhook that URL"));
    answer.status = 201;  // says where the made thing is
    CHECK(retry::why_text(answer).empty());
    CHECK(retry::why_text({.end = End::timed_out, .why = "Timeout was reached"}) ==
          "Timeout was reached");
}

TEST_CASE("the outcome of each answer", "[retry][http]") {
    const auto of = [](int status, std::optional<std::chrono::seconds> after = std::nullopt) {
        return retry::verdict_of({.end = End::answered, .status = status, .retry_after = after});
    };
    CHECK(of(200) == Verdict{Outcome::delivered, 0s});
    CHECK(of(299) == Verdict{Outcome::delivered, 0s});
    CHECK(of(301) == Verdict{Outcome::refused, 0s});
    CHECK(of(404) == Verdict{Outcome::refused, 0s});
    CHECK(of(410) == Verdict{Outcome::gone, 0s});
    CHECK(of(429) == Verdict{Outcome::throttled, 60s});
    CHECK(of(502) == Verdict{Outcome::throttled, 60s});
    CHECK(of(504, 7200s) == Verdict{Outcome::throttled, 7200s});
    CHECK(of(503, 30s) == Verdict{Outcome::throttled, 30s});
    CHECK(of(503) == Verdict{Outcome::refused, 0s});
}

TEST_CASE("Retry-After is seconds or a date", "[retry][http]") {
    const core::Timestamp now{1'766'000'000'000ms};  // Wed, 17 Dec 2025 19:33:20 GMT
    using retry::parse_retry_after;
    CHECK(parse_retry_after("120", now) == 120s);
    CHECK(parse_retry_after(" 0 ", now) == 0s);
    CHECK(parse_retry_after("Wed, 17 Dec 2025 19:34:20 GMT", now) == 60s);
    CHECK(parse_retry_after("Wed, 17 Dec 2025 19:00:00 GMT", now) == 0s);
    CHECK(parse_retry_after("99999999999", now) == 604'800s);
    CHECK(parse_retry_after("9223372036854775808", now) == 604'800s);
    CHECK(parse_retry_after("-1", now) == std::nullopt);
    CHECK(parse_retry_after("99999999999999999999 s", now) == std::nullopt);
    CHECK(parse_retry_after("soon", now) == std::nullopt);
    CHECK(parse_retry_after("-5", now) == std::nullopt);
    CHECK(parse_retry_after("12x", now) == std::nullopt);
    CHECK(parse_retry_after("", now) == std::nullopt);
}
