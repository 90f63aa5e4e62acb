#include "net/http/caller.hpp"

#include <catch2/catch.hpp>

using namespace beckon::net;

namespace {

HttpRequest request(std::string_view authority) {
    HttpRequest made;
    made.method = Method::get;
    made.authority = authority;
    return made;
}

Caller judged(std::string_view authority) {
    return judge_caller(request(authority), Hosts::this_host);
}

struct From {
    std::string_view site{};
    std::string_view dest{};
    std::string_view origin{};
    Method method = Method::get;
};

Caller judged(const From& from) {
    auto made = request("push.example.org:8085");
    made.method = from.method;
    if (!from.site.empty()) made.headers.add(HeaderName::sec_fetch_site, from.site);
    if (!from.dest.empty()) made.headers.add(HeaderName::sec_fetch_dest, from.dest);
    if (!from.origin.empty()) made.headers.add(HeaderName::origin, from.origin);
    return judge_caller(made, Hosts::any);
}

}  // namespace

TEST_CASE("only literal loopback addresses and localhost name this host") {
    for (const auto* host :
         {"localhost", "LocalHost", "localhost:8085", "127.0.0.1", "127.0.0.1:9090", "127.8.9.1",
          "[::1]", "[::1]:8085", "::1", "[::ffff:127.0.0.1]"}) {
        CAPTURE(host);
        CHECK(names_this_host(host));
        CHECK(judged(host) == Caller::good);
    }
    // Verified to fail where any host that begins with "127." passes.
    for (const auto* host : {"127.0.0.1.evil.example",
                             "127.evil.example",
                             "localhost.evil.example",
                             "evil.example",
                             "evil.example:8085",
                             "localhost@evil.example",
                             "evil@localhost",
                             "127.0.0.1:evil",
                             "127.0.0.1:",
                             "localhost:8085:1",
                             "127.1",
                             "0127.0.0.1",
                             "2130706433",
                             "0x7f.0.0.1",
                             "0.0.0.0",
                             "0.0.0.0:8085",
                             "128.0.0.1",
                             "[::]",
                             "[::2]",
                             "[::1].evil.example",
                             "[::1",
                             "[127.0.0.1.evil.example]",
                             "localhost ",
                             "localhost.",
                             ""}) {
        CAPTURE(host);
        CHECK_FALSE(names_this_host(host));
        CHECK(judged(host) == Caller::foreign_host);
    }
}

TEST_CASE("a health check in HTTP/1.0 names no host, and a page's request always does") {
    auto check = request("");
    check.http_1_0 = true;
    CHECK(judge_caller(check, Hosts::this_host) == Caller::good);
    check.authority = "evil.example";
    CHECK(judge_caller(check, Hosts::this_host) == Caller::foreign_host);
}

TEST_CASE("where names mean nothing any host is good") {
    CHECK(judge_caller(request("evil.example"), Hosts::any) == Caller::good);
    CHECK(judge_caller(request(""), Hosts::any) == Caller::good);
}

TEST_CASE(
    "a request that another site's page makes a browser send is refused, unless a person follows a "
    "link") {
    CHECK(judged(From{}) == Caller::good);  // no browser
    CHECK(judged(From{.site = "same-origin"}) == Caller::good);
    CHECK(judged(From{.site = "none", .method = Method::post}) == Caller::good);
    CHECK(judged(From{.site = "cross-site", .dest = "document"}) == Caller::good);
    CHECK(judged(From{.site = "cross-site", .dest = "document", .method = Method::post}) ==
          Caller::foreign_site);
    for (const auto* dest : {"empty", "image", "iframe", "script"}) {
        CAPTURE(dest);
        CHECK(judged(From{.site = "cross-site", .dest = dest}) == Caller::foreign_site);
        CHECK(judged(From{.site = "same-site", .dest = dest}) == Caller::foreign_site);
    }
    CHECK(judged(From{.site = "cross-site"}) == Caller::foreign_site);
}

TEST_CASE("a browser without Fetch Metadata is judged by the origin") {
    for (const auto* origin : {"http://push.example.org:8085", "https://PUSH.example.org:8085"}) {
        CHECK(judged(From{.origin = origin, .method = Method::post}) == Caller::good);
    }
    for (const auto* origin :
         {"https://evil.example", "null", "http://push.example.org", "ftp://push.example.org:8085",
          "http://evil.example//push.example.org:8085", "//push.example.org:8085"}) {
        CAPTURE(origin);
        CHECK(judged(From{.origin = origin, .method = Method::post}) == Caller::foreign_site);
        CHECK(judged(From{.origin = origin}) == Caller::foreign_site);
    }
}
