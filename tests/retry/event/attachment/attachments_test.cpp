#include "retry/event/attachment/attachments.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::retry;
using Json = nlohmann::json;

namespace {

const std::string kEvent = R"({"data":{"id":7,"list":[1,2]},"id":"e1","type":"t"})";

Json attached(const std::map<std::string, std::string>& wanted, const std::string& event = kEvent) {
    return Json::parse(with_attachments(event, wanted)).at("attachments");
}

}  // namespace

TEST_CASE("the selected values stand in the payload beside the event", "[retry][attachment]") {
    const auto payload = Json::parse(
        with_attachments(kEvent, {{"order", "data.id"}, {"last", "/data/list/1"}, {"no", "x"}}));
    CHECK(payload.at("attachments") == Json::parse(R"({"last": 2, "no": null, "order": 7})"));
    auto rest = payload;
    rest.erase("attachments");
    CHECK(rest == Json::parse(kEvent));
}

TEST_CASE("without attachments the event is sent as it is", "[retry][attachment]") {
    CHECK(with_attachments(kEvent, {}) == kEvent);
    CHECK(with_attachments("no JSON", {{"a", "b"}}) == "no JSON");
}

TEST_CASE("attachments leave the event's own text as it is", "[retry][attachment]") {
    CHECK(
        with_attachments(R"({"data":{"n":12345678901234567890123,"n":1e5, "z":0},"id":"1"})",
                         {{"a", "id"}}) ==
        R"({"data":{"n":12345678901234567890123,"n":1e5, "z":0},"id":"1","attachments":{"a":"1"}})");
}

TEST_CASE("attachments have the text that was posted", "[retry][attachment]") {
    const std::string event =
        R"({"data":[12345678901234567890123, 1e5,-0, 1.10 ,42,-7,"1e5 \" 1.5",9223372036854775808]})";
    const auto payload =
        with_attachments(event, {{"all", "data"}, {"one", "data[1]"}, {"n", "{x: data[3]}"}});
    CHECK(payload.ends_with(
        R"(,"attachments":{"all":[12345678901234567890123, 1e5,-0, 1.10 ,42,-7,"1e5 \" 1.5",9223372036854775808],"n":{"x":1.10},"one":1e5}})"));
    CHECK(payload.starts_with(event.substr(0, event.size() - 1)));
}

TEST_CASE("an attachment that fails is named with its reason, and the others are there",
          "[retry][attachment]") {
    // An older build may have accepted what this one does not know.
    const auto all = attached({{"bad", "length(data)"}, {"good", "data.id"}});
    CHECK(all == Json::parse(R"({"good": 7,
        "_errors": {"bad": "at byte 6: a function is not known here"}})"));
}

TEST_CASE("all attachments of an event share 128 KiB", "[retry][attachment]") {
    const Json event{{"data", {{"big", std::string(100'000, 'x')}, {"small", 1}}}};
    const auto all =
        attached({{"a", "data.big"}, {"b", "data.big"}, {"c", "data.small"}}, event.dump());
    CHECK(all.at("a").get<std::string>().size() == 100'000);
    CHECK_FALSE(all.contains("b"));
    CHECK(all.at("c") == 1);
    CHECK(all.at("_errors") == Json{{"b", "the attachments of an event may have 131072 bytes"}});
}

TEST_CASE("all attachments of an event share the work", "[retry][attachment]") {
    const Json event{{"data", std::vector<Json>(12'000, Json::object())}};
    std::map<std::string, std::string> wanted;
    for (int i = 0; i < 6; ++i) wanted["n" + std::to_string(i)] = "data[*].x | [9]";
    const auto all = attached(wanted, event.dump());
    CHECK(all.at("n0").is_null());
    CHECK(all.at("_errors").at("n5") == "selects too much");
}

TEST_CASE("a member of that name is replaced", "[retry][attachment]") {
    CHECK(attached({{"a", "attachments"}}, R"({"attachments":"text"})") == Json{{"a", "text"}});
}

TEST_CASE("names are plain, short and not Beckon's own", "[retry][attachment]") {
    CHECK(check_attachment("order id", "data.id"));
    for (const auto& name :
         {std::string{}, std::string{"_errors"}, std::string(65, 'n'), std::string{"a\nb"}}) {
        CAPTURE(name);
        CHECK(check_attachment(name, "data.id").error().message ==
              "a name must have 1 to 64 bytes without control characters, and must not begin "
              "with _");
    }
    CHECK(check_attachment("a", "data.").error().message ==
          "at byte 5: a name, *, [ or { is expected");
}
