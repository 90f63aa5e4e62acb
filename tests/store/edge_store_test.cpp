#include "store/edge_store.hpp"

#include "store/log_of_one_partition.hpp"

#include <catch2/catch.hpp>

namespace beckon::store {

using namespace test;
using core::FinishReason;

TEST_CASE("a message waits until it is acknowledged", "[store]") {
    EdgeFixture f;
    CHECK(f.put(1, "m1") == PutOutcome::pending);
    CHECK(f.drain() == "m1");
    CHECK(f.part().owe(f.uaid, key_of("m1"), FinishReason::acked));
    CHECK(f.drain().empty());
    CHECK(f.owed() == "m1:acked");
    CHECK(f.finish("m1"));
    CHECK(f.owed().empty());
}

TEST_CASE("what is committed is there after a restart, offsets included", "[store]") {
    EdgeFixture f;
    f.put(1, "m1");
    f.part().advance(Source::notifications, 2, at(5));
    REQUIRE(f.part().commit());
    f.reopen();
    CHECK(f.drain() == "m1");
    REQUIRE(f.part().checkpoint(Source::notifications));
    CHECK(f.part().checkpoint(Source::notifications)->next == 2);
    CHECK(f.part().checkpoint(Source::notifications)->caught_up == at(5));
    CHECK_FALSE(f.part().checkpoint(Source::subscriptions));
}

}  // namespace beckon::store
