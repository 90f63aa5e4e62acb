#include "core/enum_names.hpp"

#include "core/result.hpp"

#include <cstdint>

#include <catch2/catch.hpp>

using namespace beckon;

namespace {

enum class Colour : std::uint8_t { red, dark_blue, green };

struct Lamp {
    enum class State : std::uint8_t { off, on };
};

}  // namespace

TEST_CASE("the values of an enum have the names that the source gives them") {
    CHECK(core::name_of(Colour::dark_blue) == "dark_blue");
    CHECK(core::name_of(Lamp::State::on) == "on");
    CHECK(core::name_of(core::Fault::not_found) == "not_found");
    CHECK(core::name_of(static_cast<Colour>(3)) == "unknown");
}

TEST_CASE("all values of an enum are known") {
    STATIC_REQUIRE(core::kCountOf<Colour> == 3);
    STATIC_REQUIRE(core::kCountOf<Lamp::State> == 2);
    for (const auto colour : core::kValuesOf<Colour>) {
        CHECK(core::value_named<Colour>(core::name_of(colour)) == colour);
    }
    CHECK_FALSE(core::value_named<Colour>("blue"));
    CHECK_FALSE(core::value_named<Colour>("unknown"));
    CHECK_FALSE(core::value_named<Colour>(""));
}

TEST_CASE("one value for each value of an enum") {
    core::ByEnum<Colour, int> counts;
    counts[Colour::green] = 2;
    ++counts[Colour::red];
    CHECK(counts == core::ByEnum<Colour, int>{{1, 0, 2}});
}
