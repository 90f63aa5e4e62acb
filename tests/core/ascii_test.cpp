#include "core/ascii.hpp"

#include <catch2/catch.hpp>

using namespace beckon;

TEST_CASE("only ASCII letters have a lower case", "[ascii]") {
    CHECK(core::lower("Content-Type: AZaz09@[`{") == "content-type: azaz09@[`{");
    CHECK(core::lower("\xc4\xd6 \xff") == "\xc4\xd6 \xff");
    CHECK(core::lower("").empty());
}
