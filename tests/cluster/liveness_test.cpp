#include "cluster/liveness.hpp"

#include <catch2/catch.hpp>

using namespace beckon::cluster;
using namespace std::chrono_literals;

TEST_CASE("the group decides who lives") {
    CHECK(is_alive({.member = true, .judged_by_member = true}));
    CHECK_FALSE(is_alive({.linked = true, .judged_by_member = true}));
    CHECK_FALSE(is_alive({}));
}

TEST_CASE("a node that others found dead, or that leaves, is not alive") {
    CHECK_FALSE(is_alive({.gone = true, .member = true, .linked = true, .starting = true}));
}

TEST_CASE("a link counts while a node starts, and for a judge outside of the group") {
    CHECK(is_alive({.linked = true, .starting = true, .judged_by_member = true}));
    CHECK(is_alive({.linked = true}));
}

TEST_CASE("a process that misses two reports and a half is dead, whatever its record says") {
    CHECK(is_alive({.member = true, .silent = 25s}));
    CHECK_FALSE(is_alive({.member = true, .silent = 25001ms}));
}
