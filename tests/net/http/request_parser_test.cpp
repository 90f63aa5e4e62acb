#include "net/http/request_parser.hpp"

#include <ostream>

#include <catch2/catch.hpp>

using namespace beckon::net;
using Status = RequestParser::Status;

namespace {

constexpr RequestLimits kLimits{.header_bytes_max = 512, .body_bytes_max = 16};

Status parse(RequestParser& parser, std::string_view bytes, std::size_t piece) {
    auto status = Status::need_more;
    std::string rest;
    while (status == Status::need_more && !bytes.empty()) {
        rest += bytes.substr(0, piece);
        bytes.remove_prefix(std::min(piece, bytes.size()));
        std::size_t used = 0;
        status = parser.put(rest, used);
        rest.erase(0, used);
    }
    return status;
}

Status parse(std::string_view bytes) {
    RequestParser parser{kLimits};
    return parse(parser, bytes, bytes.size());
}

}  // namespace

TEST_CASE("a request is the same however its bytes are cut") {
    const std::string bytes =
        "\r\nPOST /wpush/a?b HTTP/1.1\r\nHost: x\r\nTTL:  5 \r\nX-Big: " + std::string(300, 'x') +
        "\r\nTopic: a\r\nTopic: b\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3;ext=1\r\nabc\r\n2\r\nde\r\n0\r\nTTL: 9\r\n\r\n";
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        CAPTURE(piece);
        RequestParser parser{kLimits};
        REQUIRE(parse(parser, bytes, piece) == Status::complete);
        const auto& request = parser.request();
        CHECK(request.method == Method::post);
        CHECK(request.target == "/wpush/a?b");
        CHECK(request.headers.get(HeaderName::ttl) == "5");
        CHECK(request.headers.get(HeaderName::topic) == "a");
        CHECK(request.body == "abcde");
        CHECK_FALSE(request.body_length_given);
        CHECK(parser.keep_alive());
    }
}

TEST_CASE("the host in the target counts more than the header Host") {
    const auto authority = [](const std::string& target, const std::string& version) {
        RequestParser parser{kLimits};
        const auto host = version == "1.0" ? "" : "Host: here:8085\r\n";
        REQUIRE(parse(parser, "GET " + target + " HTTP/" + version + "\r\n" + host + "\r\n", 5) ==
                Status::complete);
        CHECK(parser.request().http_1_0 == (version == "1.0"));
        return std::string{parser.request().authority};
    };
    CHECK(authority("/a?b=http://other/", "1.1") == "here:8085");
    CHECK(authority("http://other:1/a", "1.1") == "other:1");
    CHECK(authority("https://other", "1.1") == "other");
    CHECK(authority("http://other?a", "1.1") == "other");
    CHECK(authority("/", "1.0").empty());
}

TEST_CASE("headers with the prefix of a port are kept with their names") {
    RequestParser parser{{.header_bytes_max = 512, .body_bytes_max = 16, .extra_prefix = "ce-"}};
    const std::string bytes =
        "POST / HTTP/1.1\r\nHost: x\r\nCE-Type: a.b\r\nX-Ce-Type: no\r\nce-id: 1\r\n"
        "Content-Length: 0\r\n\r\n";
    REQUIRE(parse(parser, bytes, 7) == Status::complete);
    const auto& extra = parser.request().extra;
    REQUIRE(extra.size() == 2);
    CHECK(extra[0].name == "CE-Type");
    CHECK(extra[0].value == "a.b");
    CHECK(extra[1].name == "ce-id");
    parser.reset();
    REQUIRE(parse(parser, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 100) == Status::complete);
    CHECK(parser.request().extra.empty());
}

TEST_CASE("an empty chunked body may end byte by byte") {
    const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string end :
         {"0\r\n\r\n", "00\r\n\r\n", "0;x=1\r\n\r\n", "0\r\nA: b\r\n\r\n"}) {
        for (std::size_t piece = 1; piece <= end.size(); ++piece) {
            CAPTURE(end, piece);
            RequestParser parser{kLimits};
            REQUIRE(parse(parser, head, head.size()) == Status::need_more);
            REQUIRE(parse(parser, end, piece) == Status::complete);
            CHECK(parser.request().body.empty());
        }
    }
}

TEST_CASE("a parser is used again for the next request") {
    RequestParser parser{kLimits};
    const std::string bytes =
        "POST /a HTTP/1.1\r\nHost: x\r\nTTL: 1\r\nContent-Length: 3\r\n\r\nabcGET /b "
        "HTTP/1.0\r\n\r\n";
    std::size_t used = 0;
    REQUIRE(parser.put(bytes, used) == Status::complete);
    CHECK(parser.request().body == "abc");
    parser.reset();
    std::size_t rest = 0;
    REQUIRE(parser.put(std::string_view{bytes}.substr(used), rest) == Status::complete);
    CHECK(used + rest == bytes.size());
    CHECK(parser.request().target == "/b");
    CHECK(parser.request().body.empty());
    CHECK_FALSE(parser.request().headers.get(HeaderName::ttl));
    CHECK_FALSE(parser.keep_alive());
}

TEST_CASE("limits of header and body") {
    const auto with_length = [](std::size_t n) {
        return "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(n) + "\r\n\r\n" +
               std::string(n, 'x');
    };
    CHECK(parse(with_length(16)) == Status::complete);
    CHECK(parse(with_length(17)) == Status::body_too_large);
    CHECK(parse("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n") ==
          Status::body_too_large);
    const std::string chunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    CHECK(parse(chunked + "10\r\n" + std::string(16, 'x') + "\r\n0\r\n\r\n") == Status::complete);
    CHECK(parse(chunked + "8\r\n" + std::string(8, 'x') + "\r\n9\r\n" + std::string(9, 'x')) ==
          Status::body_too_large);
    CHECK(parse("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(600, 'x') + "\r\n\r\n") ==
          Status::header_too_large);
    std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
    for (int i = 0; i < 200; ++i) many += "a: b\r\n";
    for (const std::size_t piece : {std::size_t{1}, std::size_t{100}, many.size()}) {
        RequestParser parser{kLimits};
        CHECK(parse(parser, many, piece) == Status::header_too_large);
    }
}

TEST_CASE("a request that is not HTTP, or could be read in two ways, is refused") {
    for (
        const std::string bytes : {
            "hello\r\n\r\n",
            "GET / HTTP/2.0\r\n\r\n",
            "GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\na : b\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nTopic: a\r\n b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nTopic: a\r\n\tContent-Length: 3\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nTopic:\r\n \r\n\r\n",
            "GET / HTTP/1.1\r\n Host: x\r\n\r\n",
            "GET http:///a HTTP/1.1\r\nHost: x\r\n\r\n",
        }) {
        CAPTURE(bytes);
        CHECK(parse(bytes) == Status::bad_request);
    }
}

TEST_CASE("100-continue is wanted only while the body is awaited") {
    RequestParser parser{kLimits};
    const std::string head =
        "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n";
    CHECK(parse(parser, head.substr(0, 20), 20) == Status::need_more);
    CHECK_FALSE(parser.wants_continue());
    parser.reset();
    CHECK(parse(parser, head, head.size()) == Status::need_more);
    CHECK(parser.wants_continue());
    CHECK(parse(parser, "abc", 3) == Status::complete);
    CHECK_FALSE(parser.wants_continue());
    CHECK(
        parse("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 17\r\n\r\n") ==
        Status::body_too_large);
}

TEST_CASE("a request names its host exactly once") {
    CHECK(parse("GET / HTTP/1.1\r\nHost: x\r\n\r\n") == Status::complete);
    CHECK(parse("GET / HTTP/1.1\r\n\r\n") == Status::bad_host);
    CHECK(parse("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n") == Status::bad_host);
    CHECK(parse("GET / HTTP/1.1\r\nHost: x\r\nhost: x\r\n\r\n") == Status::bad_host);
    CHECK(parse("GET / HTTP/1.0\r\n\r\n") == Status::complete);
    CHECK(parse("GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n") == Status::bad_host);
    // Before the body is read.
    CHECK(parse("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n") == Status::bad_host);
}

TEST_CASE("a folded header line is refused however its bytes are cut") {
    const std::string bytes =
        "POST /a HTTP/1.1\r\nHost: x\r\nTopic: a\r\n b\r\nContent-Length: 3\r\n\r\nabc";
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        CAPTURE(piece);
        RequestParser parser{kLimits};
        CHECK(parse(parser, bytes, piece) == Status::bad_request);
    }
    // In a body that is all right.
    const std::string in_body =
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\na\r\n b\r\n\r\n";
    for (std::size_t piece = 1; piece <= in_body.size(); ++piece) {
        CAPTURE(piece);
        RequestParser parser{kLimits};
        CHECK(parse(parser, in_body, piece) == Status::complete);
    }
}

TEST_CASE("a target in absolute form is the same as its path") {
    const auto target_of = [](const std::string& target) {
        RequestParser parser{kLimits};
        const auto bytes = "GET " + target + " HTTP/1.1\r\nHost: x\r\nTopic: a\r\n\r\n";
        CHECK(parse(parser, bytes, 7) == Status::complete);
        CHECK(parser.request().headers.get(HeaderName::topic) == "a");
        return std::string{parser.request().target};
    };
    CHECK(target_of("http://push.example.com/wpush/a?b") == "/wpush/a?b");
    CHECK(target_of("HTTPS://push.example.com:8443/a/") == "/a/");
    CHECK(target_of("http://x") == "/");
    CHECK(target_of("http://x?a=b/c") == "/?a=b/c");
    CHECK(target_of("/a?b=http://x/y") == "/a?b=http://x/y");
    CHECK(target_of("*") == "*");
    CHECK(target_of("ftp://x/y") == "ftp://x/y");
}

TEST_CASE("lists on several lines are one list, other headers count once") {
    RequestParser parser{kLimits};
    const std::string bytes =
        "POST / HTTP/1.1\r\nHost: x\r\nCrypto-Key: dh=a\r\nTopic: a\r\nEncryption: salt=b\r\n"
        "crypto-key: p256ecdsa=c;x=y\r\nTopic: b\r\nCRYPTO-KEY: dh=d\r\nContent-Length: 0\r\n\r\n";
    REQUIRE(parse(parser, bytes, 9) == Status::complete);
    const auto& headers = parser.request().headers;
    CHECK(headers.get(HeaderName::crypto_key) == "dh=a, p256ecdsa=c;x=y, dh=d");
    CHECK(headers.get(HeaderName::encryption) == "salt=b");
    CHECK(headers.get(HeaderName::topic) == "a");
}
