#include "core/ascii.hpp"

#include <catch2/catch.hpp>

using namespace beckon;

TEST_CASE("only ASCII letters have a lower case") {
    CHECK(core::lower("Content-Type: AZaz09@[`{") == "content-type: azaz09@[`{");
    CHECK(core::lower("\xc4\xd6 \xff") == "\xc4\xd6 \xff");
    CHECK(core::lower("").empty());
}

TEST_CASE("ASCII letters are compared without case, other bytes as they are") {
    CHECK(core::equals_ignoring_case("Content-Type", "cONTENT-tYPE"));
    CHECK(core::equals_ignoring_case("", ""));
    CHECK_FALSE(core::equals_ignoring_case("a", "ab"));
    CHECK_FALSE(core::equals_ignoring_case("@", "`"));
    CHECK_FALSE(core::equals_ignoring_case("\xc4", "\xe4"));
}

TEST_CASE("a bearer's token is found in any case, behind any blanks") {
    using core::bearer_token;
    CHECK(bearer_token("Bearer abc") == "abc");
    CHECK(bearer_token("bearer abc") == "abc");
    CHECK(bearer_token("BEARER \t abc ") == "abc");
    CHECK(bearer_token("Bearer a b") == "a b");
    CHECK(bearer_token("Bearer ") == "");
    CHECK_FALSE(bearer_token("Bearer"));
    CHECK_FALSE(bearer_token("Bearerabc"));
    CHECK_FALSE(bearer_token("Basic abc"));
    CHECK_FALSE(bearer_token(" Bearer abc"));
    CHECK_FALSE(bearer_token(""));
}

TEST_CASE("letters and digits are those of ASCII alone") {
    CHECK(core::is_alphanumeric("azAZ09"));
    CHECK(core::is_alphanumeric("a-b_c", "-_"));
    CHECK_FALSE(core::is_alphanumeric("a-b", "_"));
    CHECK_FALSE(core::is_alphanumeric("\xc3\xa4"));
    CHECK(core::is_lower_alphanumeric("az09.", "."));
    CHECK_FALSE(core::is_lower_alphanumeric("aZ"));
}
