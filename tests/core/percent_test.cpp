#include "core/percent.hpp"

#include <catch2/catch.hpp>

using beckon::core::percent_completed;
using beckon::core::percent_decoded;
using beckon::core::percent_encoded;

TEST_CASE("what is percent-encoded may stand in any part of a URL") {
    CHECK(percent_encoded("order.created-1_a~") == "order.created-1_a~");
    CHECK(percent_encoded("a b/?&=%+*:") == "a%20b%2F%3F%26%3D%25%2B%2A%3A");
    CHECK(percent_encoded("\xC3\xA9") == "%C3%A9");
}

TEST_CASE("a URL's path and query have the octets of RFC 3986 alone") {
    CHECK(percent_completed("/a-._~!$&'()*+,;=:@/?b") == "/a-._~!$&'()*+,;=:@/?b");
    CHECK(percent_completed("%20%c3%") == "%20%c3%25");
    CHECK(percent_completed("%zz") == "%25zz");
    CHECK(percent_completed("\xC3\xA9 \"<>[]\\^`{|}#\x7f") ==
          "%C3%A9%20%22%3C%3E%5B%5D%5C%5E%60%7B%7C%7D%23%7F");
}

TEST_CASE("every byte comes back from its percent-encoding") {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
    CHECK(percent_decoded(percent_encoded(all)) == all);
}

TEST_CASE("a percent sign without two digits stands for itself") {
    for (const auto* text : {"%", "%4", "%zz", "100%"}) {
        CAPTURE(text);
        CHECK(percent_decoded(text) == text);
    }
    CHECK(percent_decoded("%%41") == "%A");
    CHECK(percent_decoded("%2b%2B") == "++");
}
