#include "retry/webhook/change_quota.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using retry::ChangeQuota;

TEST_CASE("changes take an owner's quota, which is refilled evenly", "[retry][webhook][bounds]") {
    ChangeQuota quota{6'000};
    const core::MonoTime start{1h};
    CHECK_FALSE(quota.take("shop", 5'000, start));
    CHECK_FALSE(quota.take("shop", 1'000, start));
    CHECK(quota.take("shop", 1'000, start) == 10s);
    CHECK(quota.take("shop", 1'000, start + 9s) == 1s);
    CHECK_FALSE(quota.take("shop", 1'000, start + 10s));
    CHECK_FALSE(quota.take("other", 6'000, start + 10s));
    CHECK_FALSE(quota.take("shop", 6'000, start + 10s + ChangeQuota::kWindow));
    CHECK(quota.take("shop", 1, start + 10s + ChangeQuota::kWindow) == 1s);
}

TEST_CASE("a change that takes more than the quota is made when all is refilled",
          "[retry][webhook][bounds]") {
    ChangeQuota quota{6'000};
    const core::MonoTime start{1h};
    CHECK_FALSE(quota.take("shop", 9'000, start));
    CHECK(quota.take("shop", 9'000, start) == 90s);
    CHECK(quota.take("shop", 9'000, start + 80s) == 10s);
    CHECK_FALSE(quota.take("shop", 9'000, start + 90s));
}

TEST_CASE("of owners who change nothing any more a bounded number is remembered",
          "[retry][webhook][bounds]") {
    ChangeQuota quota{6'000};
    core::MonoTime now{1h};
    for (int i = 0; i < 10'000; ++i) {
        CHECK_FALSE(quota.take("owner-" + std::to_string(i), 100, now += 10ms));
    }
    CHECK(quota.size() <= 2 * ChangeQuota::kOwnersMax);
}
