#include "retry/event/event.hpp"

#include "support/record_view.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::retry;
using Json = nlohmann::json;

namespace {

Json good() {
    return {{"specversion", "1.0"},
            {"id", "42"},
            {"source", "/shop"},
            {"type", "order.created"},
            {"data", {{"price", 3}}}};
}

std::string fault(const Json& event) {
    const auto parsed = parse_structured(event.dump());
    return parsed ? "none" : parsed.error().message;
}

}  // namespace

TEST_CASE("an event comes back from its record", "[retry][event]") {
    const auto event = parse_structured(good().dump());
    REQUIRE(event);
    CHECK(event->type == "order.created");
    CHECK(*decode_event(*test::ReadBack{encode(*event)}) == *event);
    CHECK(partition_of(*event, 16) == partition_of(*parse_structured(good().dump(2)), 16));
}

TEST_CASE("what is no CloudEvent is named with its place", "[retry][event]") {
    const auto with = [](const char* name, const Json& value) {
        auto event = good();
        event[name] = value;
        return fault(event);
    };
    auto lacking = good();
    lacking.erase("source");
    CHECK(fault(lacking) == "$.source is missing");
    CHECK(fault(Json::array()) == "$ must be an object");
    CHECK(with("specversion", "0.3") == "$.specversion must be \"1.0\"");
    CHECK(with("id", 42) == "$.id must be a string");
    CHECK(with("type", "") == "$.type must have 1 to 1024 bytes");
    CHECK(with("time", "yesterday") == "$.time must be a time as RFC 3339 writes it");
    CHECK(with("Trace", "x").starts_with("$.Trace is no name of an attribute"));
    CHECK(with("extra", {{"a", 1}}) == "$.extra must be a string, a number or a boolean");
    CHECK(with("data_base64", "AA==") == "$ has data and data_base64");
    CHECK(parse_structured("{").error().message == "$ is no JSON");
    CHECK(parse_structured(std::string(100'000, '[')).error().message == "$ is nested too deeply");
    CHECK(parse_structured(std::string(kEventBytesMax + 1, ' ')).error().fault ==
          core::Fault::too_large);
}

TEST_CASE("binary mode makes the same event of headers and body", "[retry][event]") {
    const std::map<std::string, std::string> attributes{
        {"specversion", "1.0"}, {"id", "42"}, {"source", "/shop"}, {"type", "t"}};
    const auto data = [&](std::string_view type, std::string_view body) {
        const auto event = parse_binary(attributes, type, body);
        REQUIRE(event);
        return Json::parse(event->json);
    };
    CHECK(data("application/json; charset=utf-8", R"({"a":1})")["data"] == Json{{"a", 1}});
    CHECK(data("text/plain", "hello")["data"] == "hello");
    CHECK(data("image/png", "\xff\xfe\xfd\xfc")["data_base64"] == "//79/A==");
    CHECK_FALSE(data("", "").contains("data"));
    CHECK(parse_binary(attributes, "application/json", "{").error().message == "$.data is no JSON");
    CHECK(parse_binary({{"id", "1"}}, "", "").error().message == "$.specversion must be \"1.0\"");
}
