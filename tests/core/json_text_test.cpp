#include "core/json_text.hpp"

#include "core/json_depth.hpp"
#include "core/json_parts.hpp"

#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using beckon::core::is_nested_deeper;
using beckon::core::json_text;
using nlohmann::json;
using nlohmann::ordered_json;

TEST_CASE("bytes that are no UTF-8 are printed as U+FFFD, and never thrown at") {
    for (const std::string bytes :
         {"\xff", "\xe2\x82", "\xed\xa0\x80", "\xc0\xaf", "\xf4\x90\x80\x80"}) {
        CAPTURE(bytes);
        const json value{{"a" + bytes, "b" + bytes}};
        CHECK_THROWS(value.dump());  // what the library does by itself
        const auto text = json_text(value);
        CHECK(json::parse(text).is_object());
        CHECK(text.find("\xef\xbf\xbd") != std::string::npos);
        CHECK(json::parse(json_text(ordered_json{{"a", bytes}})).is_object());
    }
}

TEST_CASE("JSON is printed in one line, or for people") {
    const ordered_json value{{"b", 1}, {"a", {"\xc3\xbc", nullptr}}};
    CHECK(json_text(value) == "{\"b\":1,\"a\":[\"\xc3\xbc\",null]}");
    CHECK(json_text(json{{"a", 1}}, 2) == "{\n  \"a\": 1\n}");
}

TEST_CASE("depth counts nested values, and no bracket within a string") {
    const auto nested = [](std::size_t levels) {
        return std::string(levels, '[') + std::string(levels, ']');
    };
    CHECK_FALSE(is_nested_deeper(nested(32), 32));
    CHECK(is_nested_deeper(nested(33), 32));
    CHECK_FALSE(is_nested_deeper("[" + nested(31) + "," + nested(31) + "]", 32));
    CHECK_FALSE(is_nested_deeper(R"({"token":"{{{{[[[[\"{{\\"})", 1));
    CHECK(is_nested_deeper(R"({"a":"\\"  ,"b":{}})", 1));
    CHECK_FALSE(is_nested_deeper("]]]]", 0));
    CHECK_FALSE(is_nested_deeper("", 0));
}

TEST_CASE("UTF-8 is distinguished from other bytes as the JSON library does it") {
    // Every lead byte with every second byte, with and without the bytes that follow.
    for (int lead = 0; lead < 256; ++lead) {
        for (int second = 0; second < 256; ++second) {
            for (const std::string tail : {"", "\x80", "\x80\x80", "\xbf\xbf\xbf", "a"}) {
                const auto text =
                    std::string{static_cast<char>(lead)} + static_cast<char>(second) + tail;
                bool printable = true;
                try {
                    static_cast<void>(json(text).dump());
                } catch (const json::exception&) {
                    printable = false;
                }
                if (beckon::core::is_utf8(text) != printable) {
                    CAPTURE(lead, second, tail);
                    CHECK(beckon::core::is_utf8(text) == printable);
                }
            }
        }
    }
    CHECK(beckon::core::is_utf8(""));
    CHECK_FALSE(beckon::core::is_utf8("\xc3"));
}
