#include "retry/event/event.hpp"

#include "core/json_parts.hpp"
#include "support/record_view.hpp"

#include <set>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::retry;
using namespace std::string_literals;
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

/// An event with more members, as text.
std::string with_members(const std::string& more) {
    return R"({"specversion":"1.0","id":"42","source":"/shop","type":"t",)" + more + "}";
}

std::string fault_with(const std::string& more) {
    const auto parsed = parse_structured(with_members(more));
    return parsed ? "none" : parsed.error().message;
}

const std::map<std::string, std::string> kAttributes{
    {"specversion", "1.0"}, {"id", "42"}, {"source", "/shop"}, {"type", "t"}};

/// The text of a member in the event of binary mode.
std::string member_of(const core::Result<Event>& event, const std::string& name) {
    REQUIRE(event);
    REQUIRE(Json::accept(event->json));
    const auto members = core::json_members(event->json);
    for (const auto& [known, value] : *members) {
        if (known == name) return std::string{value};
    }
    return "none";
}

std::string nested(std::size_t levels) {
    return std::string(levels, '[') + "1" + std::string(levels, ']');
}

core::Record record_of(const std::string& json) {
    auto record = encode(*parse_structured(good().dump()));
    record.value = json;
    return record;
}

}  // namespace

TEST_CASE("an event comes back from its record", "[retry][event]") {
    const auto event = parse_structured(good().dump());
    REQUIRE(event);
    CHECK(event->type == "order.created");
    CHECK(*decode_event(*test::ReadBack{encode(*event)}) == *event);
    CHECK(partition_of(*event, 16) == partition_of(*parse_structured(good().dump(2)), 16));
}

TEST_CASE("the name of an event is read without the rest of it", "[retry][event]") {
    auto json = good();
    json["data"] = {{"id", "inner"}, {"source", {"x", "y"}}};
    json["a"] = R"("id":"other")";
    const auto event = for_owner(*parse_structured(json.dump()), "shop");
    const auto name = decode_event_name(*test::ReadBack{encode(*event)});
    REQUIRE(name);
    CHECK(name->id == event->id);
    CHECK(scope_of(*name) == scope_of(*event));
    CHECK(name->json.empty());
    CHECK(scope_of(*decode_event_name(*test::ReadBack{record_of(good().dump())})) ==
          std::string{good()["source"]});
    for (const auto* none : {"{}", "1", "", "{\"id\":\"x\"}", "{\"id\":1,\"source\":\"s\"}"}) {
        CHECK_FALSE(decode_event_name(*test::ReadBack{record_of(none)}));
    }
}

TEST_CASE("events of one owner with the same partition key have one partition", "[retry][event]") {
    constexpr core::Partition kMany = 16;
    const auto partition = [](const std::string& id, const char* owner, const char* key) {
        auto event = good();
        event["id"] = id;
        if (*key != '\0') event["partitionkey"] = key;
        const auto posted = for_owner(*parse_structured(event.dump()), owner);
        CHECK(*decode_event(*test::ReadBack{encode(*posted)}) == *posted);
        return partition_of(*posted, kMany);
    };
    std::set<core::Partition> same_key;
    std::set<core::Partition> no_key;
    std::set<core::Partition> owners;
    for (int i = 0; i < 32; ++i) {
        const auto text = std::to_string(i);
        same_key.insert(partition(text, "shop", "customer 7"));
        no_key.insert(partition(text, "shop", ""));
        owners.insert(partition("1", ("shop" + text).c_str(), "customer 7"));
    }
    CHECK(same_key.size() == 1);
    CHECK(no_key.size() > 8);
    CHECK(owners.size() > 8);
}

TEST_CASE("data pass through as the text that they came as", "[retry][event]") {
    for (const auto& data :
         {"12345678901234567890123"s, "1e5"s, "1.10"s, "-0"s, R"({"a":1,"a":2,"z":0,"b":[ ]})"s,
          R"([1 , "\u00e9\/", 9007199254740993])"s, "null"s, "{\n  \"a\" : 1\n}"s}) {
        CAPTURE(data);
        CHECK(member_of(parse_structured(with_members("\"data\": " + data + " ")), "data") == data);
        CHECK(member_of(parse_binary(kAttributes, "application/json", data), "data") == data);
        const auto event = for_owner(*parse_structured(with_members("\"data\":" + data)), "shop");
        CHECK(member_of(event, "data") == data);
        CHECK(member_of(event, "beckonowner") == "\"shop\"");
        CHECK(*decode_event(*test::ReadBack{encode(*event)}) == *event);
    }
}

TEST_CASE("a fault of a CloudEvent is named with its place", "[retry][event]") {
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
    // Tools print types and sources: a terminal obeys none of these.
    for (const auto* text : {"a\nb", "a\x1b[2J", "a\x7f", "a\xc2\x9b", "a\xe2\x80\xae"}) {
        CHECK(with("type", text) == "$.type must have no control characters");
        CHECK(with("source", text) == "$.source must have no control characters");
    }
    for (const auto* time :
         {"yesterday", "2026-11-20", "2026-11-20T08:30:00", "2026-11-20 08:30:00Z"}) {
        CHECK(with("time", time) ==
              "$.time must be a time as RFC 3339 writes it, such as 2026-11-20T08:30:00Z");
    }
    CHECK(with("Trace", "x").starts_with("$.Trace is no name of an attribute"));
    auto many = good();
    for (int i = 0; i < 129; ++i) many["a" + std::to_string(i)] = 1;
    CHECK(fault(many) == "$ has too many attributes: an event may have 128");
    CHECK(with(std::string(129, 'a').c_str(), "x").starts_with("$.aaa"));
    CHECK(with("extra", {{"a", 1}}) == "$.extra must be a string, a number or a boolean");
    CHECK(with("data_base64", "AA==") == "$ has data and data_base64");
    CHECK(with("partitionkey", "") == "$.partitionkey must have 1 to 1024 bytes");
    CHECK(with("partitionkey", 7) == "$.partitionkey must be a string");
    CHECK(with("datacontenttype", "a\r\nb").starts_with("$.datacontenttype must be a media type"));
    CHECK(
        fault_with(R"("data_base64":"A")").starts_with("$.data_base64 must be a string of base64"));
    CHECK(
        fault_with(R"("data_base64":{})").starts_with("$.data_base64 must be a string of base64"));
    CHECK(fault_with(R"("data_base64":"_-8=")")
              .starts_with("$.data_base64 must be a string of base64"));
    CHECK(fault_with(R"("id":"43")") == "$.id stands twice");
    CHECK(fault_with(R"("beckonowner":"a","beckono\u0077ner":"b")") ==
          "$.beckonowner stands twice");
    CHECK(fault_with(R"("data":1,"data":2)") == "$.data stands twice");
    CHECK(fault_with(R"("data":1e999)") == "$ has a number beyond the range of a double (byte 71)");
    CHECK(parse_structured("{").error().message == "$ is not JSON (byte 2)");
    CHECK(parse_structured(std::string(100'000, '[')).error().message ==
          "$ is nested too deeply: at most 64 levels");
    CHECK(parse_structured(std::string(kEventBytesMax + 1, ' ')).error().fault ==
          core::Fault::too_large);
}

TEST_CASE("events of libraries are accepted", "[retry][event]") {
    const auto taken = parse_structured(with_members(
        R"("time":null,"subject":null,"data_base64":null,"data":1,"anattributewithaverylongname":"x")"));
    REQUIRE(taken);
    CHECK(Json::parse(taken->json) ==
          Json::parse(with_members(R"("data":1,"anattributewithaverylongname":"x")")));
    CHECK(fault_with(R"("time":"2026-11-20t08:30:00.123456789z")") == "none");
    CHECK(fault_with(R"("time":"2026-11-20T08:30:00-05:00")") == "none");
    CHECK(fault_with("\"extension\":" + std::string(R"("café", "number": -5, "flag":true)")) ==
          "none");
    CHECK(parse_structured("\xef\xbb\xbf" + good().dump(4) + "\r\n"));
}

TEST_CASE("binary mode makes the same event of headers and body", "[retry][event]") {
    const auto data = [](std::string_view type, std::string_view body) {
        return member_of(parse_binary(kAttributes, type, body), "data");
    };
    const auto bytes = [](std::string_view type, std::string_view body) {
        return member_of(parse_binary(kAttributes, type, body), "data_base64");
    };
    CHECK(data("application/json; charset=utf-8", R"({"a":1})") == R"({"a":1})");
    CHECK(data("Application/JSON", " 1e5\n") == "1e5");
    CHECK(data("", "[1]") == "[1]");
    CHECK(data("text/plain", "h\xc3\xa9llo\n") == "\"h\xc3\xa9llo\\n\"");
    CHECK(bytes("image/png", "\xff\xfe\xfd\xfc") == "\"//79/A==\"");
    CHECK(data("", "") == "none");
    CHECK(parse_binary(kAttributes, "application/json", "{").error().message ==
          "$.data is not JSON (byte 2)");
    CHECK(bytes("", "hello") == "\"aGVsbG8=\"");
    CHECK(parse_binary({{"id", "1"}}, "", "").error().message == "$.specversion must be \"1.0\"");
}

TEST_CASE("text in another charset travels as its bytes, under its own type", "[retry][event]") {
    const auto latin = parse_binary(kAttributes, "text/plain; charset=iso-8859-1", "caf\xe9");
    CHECK(member_of(latin, "data_base64") == "\"Y2Fm6Q==\"");
    CHECK(member_of(latin, "datacontenttype") == "\"text/plain; charset=iso-8859-1\"");
    const auto json = parse_binary(kAttributes, "application/json;charset=\"UTF-16\"", "1\0"s);
    CHECK(member_of(json, "data_base64") == "\"MQA=\"");
    CHECK(member_of(parse_binary(kAttributes, "text/plain", "caf\xe9"), "data_base64") ==
          "\"Y2Fm6Q==\"");
    CHECK_FALSE(parse_binary(kAttributes, "application/json", "\"caf\xe9\""));
}

TEST_CASE("no body can say more than the data", "[retry][event]") {
    for (const auto& body : {R"(1,"beckonowner":"other")"s, R"(1},{)"s, "1\0,\"id\":\"x\""s,
                             "\xef\xbb\xbf\xef\xbb\xbf"s + "1"s}) {
        CAPTURE(body);
        CHECK_FALSE(parse_binary(kAttributes, "application/json", body));
    }
    auto attributes = kAttributes;
    attributes["subject"] = "\",\"beckonowner\":\"other";
    CHECK(parse_binary(attributes, "", "")->owner.empty());
}

TEST_CASE("attributes in headers are UTF-8", "[retry][event]") {
    for (const auto* name : {"id", "source", "type", "subject", "extra"}) {
        for (const auto* bad : {"\xff", "\xe2\x82", "caf\xe9"}) {
            auto attributes = kAttributes;
            attributes[name] = bad;
            CHECK(parse_binary(attributes, "", "").error().message ==
                  "$."s + name + " must be UTF-8");
        }
    }
    auto attributes = kAttributes;
    attributes["data"] = "1";
    CHECK(parse_binary(attributes, "", "").error().message == "$.data is no header");
}

TEST_CASE("limits count the record of the log, so that every accepted event can be read",
          "[retry][event]") {
    // Nested as deep as may be with the event around it, in both modes.
    const auto deep = parse_binary(kAttributes, "application/json", nested(63));
    REQUIRE(deep);
    CHECK(decode_event(*test::ReadBack{encode(*deep)}));
    CHECK_FALSE(parse_binary(kAttributes, "application/json", nested(64)));
    CHECK_FALSE(parse_structured(with_members("\"data\":" + nested(64))));

    // So many octets that base64 makes them too large.
    for (const auto octets : {std::size_t{196'000}, std::size_t{196'490}, kEventBytesMax}) {
        const auto event = parse_binary(kAttributes, "image/png", std::string(octets, '\xff'));
        if (event) {
            CHECK(event->json.size() <= kEventBytesMax);
            CHECK(decode_event(*test::ReadBack{encode(*event)}));
        } else {
            CHECK(event.error().fault == core::Fault::too_large);
            CHECK(octets > 196'000);
        }
    }
    // So long that an owner makes it too large.
    const auto capacity = kEventBytesMax - with_members("\"data\":\"\"").size();
    const auto full =
        parse_structured(with_members("\"data\":\"" + std::string(capacity, 'x') + "\""));
    REQUIRE(full);
    CHECK(full->json.size() == kEventBytesMax);
    CHECK(for_owner(*full, "shop").error().fault == core::Fault::too_large);
}

TEST_CASE("a record of the log is read as it stands", "[retry][event]") {
    const auto stored =
        with_members("\"data\":" + nested(64) + R"(,"subject":null,"time":"2026-11-20")");
    const auto event = decode_event(*test::ReadBack{record_of(stored)});
    REQUIRE(event);
    CHECK(event->json == stored);
    const auto large = with_members("\"data\":\"" + std::string(kEventBytesMax, 'x') + "\"");
    CHECK(decode_event(*test::ReadBack{record_of(large)})->json == large);
    CHECK_FALSE(decode_event(*test::ReadBack{record_of("{}")}));
    CHECK_FALSE(decode_event(*test::ReadBack{record_of("1")}));
}
