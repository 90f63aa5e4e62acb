#include "core/token_buckets.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;

TEST_CASE("token buckets know a bounded number of names, and forget those that are full again") {
    using Buckets = core::TokenBuckets<std::string>;
    Buckets buckets{{.at_once = 2, .each = 1s}};
    core::MonoTime now{1'000s};
    CHECK(buckets.try_take("a", now));
    CHECK(buckets.try_take("a", now));
    CHECK_FALSE(buckets.try_take("a", now));
    CHECK(buckets.wait("a", now) == 1s);
    CHECK(buckets.try_take("a", now + 1s));
    for (std::size_t i = 0; i < Buckets::kNamesMax + 10; ++i) {
        buckets.take(std::to_string(i), now);
    }
    CHECK(buckets.names() == Buckets::kNamesMax + 1);  // those that came too late share one
    CHECK_FALSE(buckets.try_take("late", now));
    CHECK(buckets.try_take("late", now + 10s));
    CHECK(buckets.names() == 1);
}

TEST_CASE("several tokens are taken together, and more than a bucket holds are a full bucket") {
    core::TokenBuckets<std::string> buckets{{.at_once = 6, .each = 10s}};
    const core::MonoTime start{1'000s};
    CHECK_FALSE(buckets.wait("shop", start, 9));
    buckets.take("shop", start, 9);
    CHECK(buckets.wait("shop", start, 9) == 60s);
    CHECK(buckets.wait("shop", start + 20s, 3) == 10s);
    CHECK_FALSE(buckets.wait("shop", start + 30s, 3));
    CHECK_FALSE(buckets.wait("other", start, 6));
}
