#include "fetch/url.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using fetch::Url;

TEST_CASE("a URL is taken apart as libcurl will ask for it") {
    const auto url = Url::parse("HTTPS://me:pass%20word@Example.org:8443/a/../b?c=d#e").value();
    CHECK(url.scheme() == "https");
    CHECK(url.host() == "Example.org");
    CHECK(url.origin() == "https://Example.org:8443");
    CHECK(url.part(CURLUPART_USER) == "me");
    CHECK(url.part(CURLUPART_PASSWORD, CURLU_URLDECODE) == "pass word");
    CHECK(url.part(CURLUPART_PATH) == "/b");
    CHECK(url.part(CURLUPART_QUERY) == "c=d");
    CHECK(url.part(CURLUPART_FRAGMENT) == "e");
    CHECK(Url::parse("http://[::1]").value().origin() == "http://[::1]");
    CHECK_FALSE(Url::parse("http://h").value().part(CURLUPART_PORT));
}

TEST_CASE("a part of a URL is changed or removed") {
    auto url = Url::parse("https://me@example.org/hook@1").value();
    REQUIRE(url.set(CURLUPART_USER, nullptr));
    CHECK(url.part(CURLUPART_URL) == "https://example.org/hook@1");
    CHECK_FALSE(url.set(CURLUPART_PORT, "70000"));
}

TEST_CASE("what is no URL is refused with its reason") {
    using namespace std::string_literals;
    const auto why = [](const std::string& text) {
        const auto url = Url::parse(text);
        return url ? "none" : url.error().message;
    };
    CHECK(why("example.org") == "it has no scheme");
    CHECK(why("http://") == "the host is missing");
    CHECK(why("http://h:70000") == "the port must be a number from 1 to 65535");
    CHECK(why("http://h:0") == "the port must be a number from 1 to 65535");
    CHECK(why("http:///path") == "the host is missing");
    CHECK(why("http://h/a:///b") == "none");
    CHECK(why("http://[::1") == "its host is no IPv6 address in brackets");
    CHECK(why("http://a,b") == "its host is no host name");
    CHECK(why("http://a\0b"s) != "none");
    CHECK(why("ws://h") != "none");
    CHECK(Url::parse("ws://h", CURLU_NON_SUPPORT_SCHEME));
}
