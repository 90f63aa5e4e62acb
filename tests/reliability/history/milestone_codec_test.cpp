#include "reliability/history/milestone_codec.hpp"

#include "reliability/milestone_texts.hpp"
#include "reliability/random_lives.hpp"
#include "support/record_view.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace reliability;
using test::at_ms;

namespace {

const MilestonesReached kEvent{.id = "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
                               .expires = at_ms(1'790'000'060'000),
                               .source = "0123456789abcdef",
                               .reached = {{Milestone::received, at_ms(1'790'000'000'000)},
                                           {Milestone::stored, at_ms(1'790'000'000'004)}}};

bool decodes(const core::Record& record) {
    MilestonesReached into;
    const test::ReadBack back{record};
    return decode(*back, into);
}

core::Record with_value(std::string value) {
    auto record = encode(kEvent);
    record.value = std::move(value);
    return record;
}

}  // namespace

TEST_CASE("encoded milestones decode to the same ones") {
    MilestonesReached into;
    const auto record = encode(kEvent);
    const test::ReadBack back{record};
    REQUIRE(decode(*back, into));
    CHECK(into == kEvent);
    CHECK(*record.value ==
          R"({"expires":1790000060000,"reached":[{"at":1790000000000,"milestone":"received"},)"
          R"({"at":1790000000004,"milestone":"stored"}]})");
}

TEST_CASE("a milestone with a name of tomorrow is left out, the others count") {
    MilestonesReached into;
    const auto record = with_value(
        R"({"expires":5,"reached":[{"at":1,"milestone":"read"},{"at":2,"milestone":"stored"}]})");
    const test::ReadBack back{record};
    REQUIRE(decode(*back, into));
    CHECK(into.reached == std::vector<Reached>{{Milestone::stored, at_ms(2)}});
    CHECK_FALSE(decodes(with_value(R"({"expires":5,"reached":[{"at":1,"milestone":"read"}]})")));
}

TEST_CASE("a record without milestones does not decode") {
    CHECK_FALSE(decodes(with_value("")));
    CHECK_FALSE(decodes(with_value("[]")));
    CHECK_FALSE(decodes(with_value(R"({"expires":5})")));
    CHECK_FALSE(decodes(with_value(R"({"expires":5,"reached":[]})")));
    CHECK_FALSE(decodes(with_value(R"({"expires":-5,"reached":[{"at":1,"milestone":"stored"}]})")));
    CHECK_FALSE(decodes(with_value(R"({"expires":5,"reached":[{"milestone":"stored"}]})")));
    CHECK_FALSE(decodes(with_value(R"({"expires":5,"reached":["stored"]})")));
    CHECK_FALSE(
        decodes(with_value(R"({"expires":9e18,"reached":[{"at":1,"milestone":"stored"}]})")));
    auto null = encode(kEvent);
    null.value = std::nullopt;
    CHECK_FALSE(decodes(null));
    auto other_type = encode(kEvent);
    other_type.headers[0].value = "beckon.milestones.v2";
    CHECK_FALSE(decodes(other_type));
    auto barrier = encode(kEvent);
    barrier.key = "!barrier/0123456789abcdef";
    CHECK_FALSE(decodes(barrier));
}

TEST_CASE("an id is short, and of letters, digits and few signs") {
    CHECK(core::is_reliability_id("a"));
    CHECK(core::is_reliability_id("c7f1f7d0-9a9e-4b0c-8f5e-0a1b2c3d4e5f"));
    CHECK(core::is_reliability_id("<nobody@example.org>") == false);
    CHECK(core::is_reliability_id("nobody@example.org"));
    CHECK_FALSE(core::is_reliability_id(""));
    CHECK_FALSE(core::is_reliability_id("!barrier/x"));
    CHECK_FALSE(core::is_reliability_id("two words"));
    CHECK_FALSE(core::is_reliability_id("line\nbreak"));
    CHECK_FALSE(core::is_reliability_id("\xc3\xa9"));
    CHECK(core::is_reliability_id(std::string(core::kReliabilityIdBytesMax, 'x')));
    CHECK_FALSE(core::is_reliability_id(std::string(core::kReliabilityIdBytesMax + 1, 'x')));
}
