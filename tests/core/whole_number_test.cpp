#include "core/whole_number.hpp"

#include "core/json_text.hpp"

#include <cstdint>
#include <limits>
#include <optional>

#include <catch2/catch.hpp>

using namespace beckon;

namespace {

template <class Int>
std::optional<Int> found(const char* json) {
    return core::find_whole_number<Int>(core::must_parse_json(json));
}

}  // namespace

TEST_CASE("a whole number is one that the integer can hold") {
    CHECK(found<std::uint32_t>("0") == 0);
    CHECK(found<std::uint32_t>("4294967295") == 4'294'967'295);
    CHECK_FALSE(found<std::uint32_t>("4294967296"));
    CHECK_FALSE(found<std::uint32_t>("-1"));
    CHECK(found<int>("-2147483648") == std::numeric_limits<int>::min());
    CHECK_FALSE(found<int>("2147483648"));
    CHECK_FALSE(found<std::int64_t>("9223372036854775808"));
    CHECK(found<std::uint64_t>("18446744073709551615") ==
          std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("other JSON is no whole number") {
    for (const auto* json :
         {"1.0", "1.5", "1e3", "18446744073709551616", "\"1\"", "true", "null", "[1]", "{}"}) {
        CAPTURE(json);
        CHECK_FALSE(found<std::int64_t>(json));
        CHECK_THROWS(core::whole_number<std::int64_t>(core::must_parse_json(json)));
    }
}
