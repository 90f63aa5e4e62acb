#include "core/media_type.hpp"

#include <catch2/catch.hpp>

using beckon::core::parse_media_type;

TEST_CASE("a Content-Type says its type and its charset, in any case and with quotes") {
    const auto type = parse_media_type(R"(Text/Plain ; a="x;charset=no\";" ;CHARSET="ISO-8859-1")");
    CHECK(type.type == "text/plain");
    CHECK(type.charset == "iso-8859-1");
    CHECK_FALSE(type.is_utf8());
    CHECK(parse_media_type("application/json;charset=UTF-8").is_utf8());
    CHECK(parse_media_type("text/plain").is_utf8());
    CHECK(parse_media_type("").type.empty());
    CHECK(parse_media_type(";;=\"").type.empty());
}

TEST_CASE("JSON is recognised by its type") {
    for (const auto* json : {"application/json", "Application/JSON; charset=utf-8", "text/json",
                             "application/vnd.shop+json"}) {
        CHECK(parse_media_type(json).is_json());
    }
    for (const auto* other : {"text/plain", "application/jsonl", "application/json-seq", ""}) {
        CHECK_FALSE(parse_media_type(other).is_json());
    }
}
