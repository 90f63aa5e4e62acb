#include "retry/schedule/owner_shares.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using retry::OwnerShares;

TEST_CASE("what owners hold is counted for each and for all", "[retry][schedule]") {
    OwnerShares shares{100};
    shares.take("a", 30);
    shares.take("a", 10);
    shares.take("b", 20);
    CHECK(shares.held_by("a") == 40);
    CHECK(shares.held_by("b") == 20);
    CHECK(shares.used() == 60);
    CHECK(shares.free() == 40);
    CHECK(shares.share(1) == 16);  // 40, of which 40 per cent
    shares.give_back("a", 40);
    shares.give_back("b", 5);
    CHECK(shares.held_by("a") == 0);
    CHECK(shares.held_by("b") == 15);
    CHECK(shares.used() == 15);
    shares.take("c", 0);
    shares.give_back("c", 0);
    CHECK(shares.held_by("c") == 0);
    CHECK(shares.used() == 15);
}
