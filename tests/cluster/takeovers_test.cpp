#include "cluster/takeovers.hpp"

#include <catch2/catch.hpp>

using beckon::cluster::Takeovers;

TEST_CASE("a standby has room up to its share without the dead node", "[cluster]") {
    // Four nodes, eight partitions. Once one of two homes is dead, the others have 2, 3 and 3.
    Takeovers takeovers{{1, 1, 1, 1}, {2, 2, 2, 2}};
    CHECK(takeovers.has_room(0, 1));
    takeovers.add(0, 1);
    CHECK_FALSE(takeovers.has_room(0, 1));  // it would have four
    CHECK(takeovers.has_room(0, 2));
    takeovers.add(0, 2);
    CHECK_FALSE(takeovers.has_room(0, 3));  // two are rounded up already
    CHECK(takeovers.has_room(1, 3));        // another death
    takeovers.remove(0, 1);
    CHECK(takeovers.has_room(0, 3));
    CHECK(takeovers.shared(0, 2) == 1);
    CHECK(takeovers.shared(0, 1) == 0);
}

TEST_CASE("a standby that is full already has no room", "[cluster]") {
    // Five nodes, eight partitions: without one of two homes the others have two each.
    Takeovers takeovers{{1, 1, 1, 1, 1}, {2, 2, 2, 1, 1}};
    CHECK_FALSE(takeovers.has_room(0, 1));
    CHECK(takeovers.has_room(0, 3));
    CHECK(takeovers.has_room(3, 4));  // without one of one home too
    CHECK_FALSE(takeovers.has_room(3, 0));
}

TEST_CASE("half of the partitions of a home need standbys with room", "[cluster]") {
    Takeovers takeovers{{1, 1, 1, 1, 1}, {2, 2, 2, 1, 1}};
    CHECK(takeovers.needs_room(0));
    CHECK_FALSE(takeovers.needs_room(3));  // it has one, and one and a half is two
    takeovers.add(0, 1);                   // has no room
    CHECK(takeovers.needs_room(0));
    takeovers.add(0, 4);
    CHECK_FALSE(takeovers.needs_room(0));
    takeovers.remove(0, 4);
    CHECK(takeovers.needs_room(0));
}

TEST_CASE("the room of a node goes by its capacity", "[cluster]") {
    // Nine partitions at capacities 1, 2 and 3: without the first 3.6 and 5.4.
    Takeovers takeovers{{1, 2, 3}, {2, 3, 4}};
    CHECK(takeovers.has_room(0, 1));
    takeovers.add(0, 1);
    CHECK_FALSE(takeovers.has_room(0, 1));
    CHECK(takeovers.has_room(0, 2));
    takeovers.add(0, 2);
    CHECK_FALSE(takeovers.has_room(0, 2));
}

TEST_CASE("a node alone has nobody to take over", "[cluster]") {
    const Takeovers takeovers{{1}, {4}};
    CHECK(takeovers.shared(0, 0) == 0);
}
