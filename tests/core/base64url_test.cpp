#include "core/base64url.hpp"

#include <array>
#include <random>

#include <catch2/catch.hpp>

using namespace beckon::core;

namespace {

std::string random_bytes(std::mt19937& random, std::size_t size) {
    std::string out;
    while (out.size() < size) out.push_back(static_cast<char>(random()));
    return out;
}

}  // namespace

TEST_CASE("the vectors of RFC 4648 in the URL-safe alphabet") {
    const auto [bytes, text] =
        GENERATE(table<std::string, std::string>({{"", ""},
                                                  {"f", "Zg"},
                                                  {"fo", "Zm8"},
                                                  {"foo", "Zm9v"},
                                                  {"foob", "Zm9vYg"},
                                                  {"fooba", "Zm9vYmE"},
                                                  {"foobar", "Zm9vYmFy"},
                                                  {"\xfb\xff\xbf", "-_-_"}}));
    CHECK(base64url(bytes) == text);
    CHECK(parse_base64url(text) == bytes);
    CHECK(parse_base64_any(text) == bytes);
}

TEST_CASE("any bytes are read back from their text") {
    std::mt19937 random{11};
    for (std::size_t size = 0; size < 300; ++size) {
        const auto bytes = random_bytes(random, size);
        const auto text = base64url(bytes);
        REQUIRE(text.size() == (size * 4 + 2) / 3);
        REQUIRE(parse_base64url(text) == bytes);
        REQUIRE(parse_base64_any(text) == bytes);
        std::string appended = "head.";
        append_base64url(appended, bytes);
        REQUIRE(appended == "head." + text);
    }
}

TEST_CASE("up to two padding signs are tolerated at the end") {
    CHECK(parse_base64url("Zg==") == "f");
    CHECK(parse_base64url("Zg=") == "f");
    CHECK(parse_base64url("Zm8=") == "fo");
    CHECK(parse_base64_any("Zm8=") == "fo");
    CHECK_FALSE(parse_base64url("Zg==="));
    CHECK_FALSE(parse_base64url("=Zg"));
    CHECK_FALSE(parse_base64url("Zg==Zg"));
    CHECK(parse_base64url("==") == "");
}

TEST_CASE("each byte outside the alphabet is refused, at each place") {
    constexpr std::string_view kAllowed =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (int c = 0; c < 256; ++c) {
        const char byte = static_cast<char>(c);
        if (kAllowed.find(byte) != std::string_view::npos || byte == '=') continue;
        const bool other_alphabet = byte == '+' || byte == '/';
        for (std::size_t place = 0; place < 7; ++place) {
            std::string text = "AAAAAAA";
            text[place] = byte;
            CAPTURE(c, place);
            REQUIRE_FALSE(parse_base64url(text));
            REQUIRE(parse_base64_any(text).has_value() == other_alphabet);
        }
    }
}

TEST_CASE("an impossible length is refused") {
    CHECK_FALSE(parse_base64url("A"));
    CHECK_FALSE(parse_base64url("AAAAA"));
    CHECK_FALSE(parse_base64_any("AAAAA"));
}

TEST_CASE("each byte string has one text, but VAPID keys may be sloppy") {
    CHECK_FALSE(parse_base64url("Zh"));  // Zg with an unused bit set
    CHECK_FALSE(parse_base64url("Zm9"));
    CHECK(parse_base64_any("Zh") == "f");
    CHECK(parse_base64_any("+/-_") == "\xfb\xff\xbf");
}

TEST_CASE("decoding into a buffer needs space for all of it") {
    std::array<std::uint8_t, 3> capacity{};
    CHECK(parse_base64url("Zm9v", capacity) == 3);
    CHECK(capacity == std::array<std::uint8_t, 3>{'f', 'o', 'o'});
    CHECK(parse_base64url("Zg==", capacity) == 1);
    CHECK_FALSE(parse_base64url("Zm9vYg", capacity));
    CHECK_FALSE(parse_base64url("Zm9!", capacity));
}

TEST_CASE("hex is lower case, two digits per byte") {
    CHECK(hex(std::string{"\x00\x0f\xf0\xff", 4}) == "000ff0ff");
    CHECK(hex("").empty());
}
