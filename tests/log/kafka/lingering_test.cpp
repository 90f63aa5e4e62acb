// Batching on the way to and from a broker: when a record lingers, and for how long. Time is
// given by the test; no broker is asked.
#include "log/kafka/fetch_pace.hpp"
#include "log/kafka/linger_time.hpp"
#include "log/kafka/lingering_records.hpp"
#include "log/traffic.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using log::SteadyTime;
using log::Topic;
using log::Traffic;
using log::kafka::FetchPace;
using log::kafka::linger_time;
using log::kafka::LingeringRecords;
using log::kafka::Publishing;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const SteadyTime kBegin = SteadyTime{} + seconds{1000};

Publishing put(std::string key, core::Partition partition = 0) {
    return {{Topic::kNotifications, partition}, {std::move(key), "value", {}}, nullptr};
}

std::vector<std::string> keys_of(const std::vector<Publishing>& all) {
    std::vector<std::string> keys;
    for (const auto& one : all) keys.push_back(one.record.key);
    return keys;
}

using Keys = std::vector<std::string>;

/// Half a second of traffic, all of which goes; leaves the time of the next record in `now`.
void have_traffic(LingeringRecords& lingering, std::size_t per_second, SteadyTime& now) {
    for (std::size_t i = 0; i < per_second / 2; ++i) {
        auto one = put("before");
        lingering.hold(one, now);
        lingering.take_all();
        now += microseconds{1'000'000 / per_second};
    }
}

}  // namespace

TEST_CASE("traffic is that of the last tenth of a second, and none after a silence") {
    Traffic traffic;
    auto now = kBegin;
    CHECK(traffic.per_second(now) == 0);
    for (int i = 0; i < 1000; ++i) traffic.count(5, now += milliseconds{1});
    CHECK(traffic.per_second(now) > 4'900);
    CHECK(traffic.per_second(now) < 5'100);
    CHECK(traffic.per_second(now + milliseconds{90}) > 0);
    CHECK(traffic.per_second(now + milliseconds{350}) == 0);
    traffic.count(1, now + seconds{10});
    CHECK(traffic.per_second(now + seconds{10}) < 100);
}

TEST_CASE("the more traffic there is, the longer a record waits, and none where there is little") {
    CHECK(linger_time(0) == milliseconds{0});
    CHECK(linger_time(1'999) == milliseconds{0});
    CHECK(linger_time(2'000) > milliseconds{0});
    for (std::size_t rate = 0; rate < 30'000; rate += 100) {
        CHECK(linger_time(rate) <= linger_time(rate + 100));
        CHECK(linger_time(rate) <= milliseconds{20});
    }
}

TEST_CASE("a record is not held where there is little traffic") {
    LingeringRecords lingering;
    auto now = kBegin;
    for (int i = 0; i < 1000; ++i) {
        auto one = put("k");
        CHECK_FALSE(lingering.hold(one, now += milliseconds{1}));
        CHECK(one.record.key == "k");  // still the caller's
    }
    CHECK(lingering.empty());
}

TEST_CASE("where there is traffic, records of a partition go together and in their order") {
    LingeringRecords lingering;
    auto now = kBegin;
    have_traffic(lingering, 8'000, now);
    const auto first = now;
    for (const auto* key : {"a", "b", "c"}) {
        auto one = put(key);
        REQUIRE(lingering.hold(one, now));
        auto other = put(std::string{"other "} + key, 5);
        REQUIRE(lingering.hold(other, now));
        now += microseconds{10};
    }
    CHECK_FALSE(lingering.empty());
    // Each partition has its moment: at some millisecond the first three go, at another the others.
    std::vector<Keys> gone;
    while (!lingering.empty() && now < first + milliseconds{100}) {
        now += milliseconds{1};
        if (auto keys = keys_of(lingering.take_due(now)); !keys.empty()) gone.push_back(keys);
    }
    CHECK(now - first <= linger_time(8'000) + milliseconds{1});
    REQUIRE(gone.size() == 2);
    if (gone[0] != Keys{"a", "b", "c"}) std::swap(gone[0], gone[1]);
    CHECK(gone[0] == Keys{"a", "b", "c"});
    CHECK(gone[1] == Keys{"other a", "other b", "other c"});
}

TEST_CASE("a record joins those of its partition that wait, though traffic has ended") {
    LingeringRecords lingering;
    auto now = kBegin;
    have_traffic(lingering, 8'000, now);
    auto early = put("early");
    REQUIRE(lingering.hold(early, now));
    auto late = put("late");
    REQUIRE(lingering.hold(late, now + seconds{1}));
    auto elsewhere = put("elsewhere", 1);
    CHECK_FALSE(lingering.hold(elsewhere, now + seconds{1}));
    CHECK(keys_of(lingering.take_due(now + seconds{1})) == Keys{"early", "late"});
    CHECK(lingering.empty());
}

TEST_CASE("at the bound all waiting records are due at once, and then there is space again") {
    LingeringRecords lingering;
    auto now = kBegin;
    have_traffic(lingering, 8'000, now);
    const auto hold = [&](std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            auto one = put(std::to_string(i), static_cast<core::Partition>(i % 16));
            REQUIRE(lingering.hold(one, now));
        }
    };
    lingering.take_all();
    now += milliseconds{1} - now.time_since_epoch() % milliseconds{1};
    hold(LingeringRecords::kLingeringMax - 1);
    CHECK(lingering.take_due(now).empty());
    hold(1);
    CHECK(lingering.take_due(now).size() == LingeringRecords::kLingeringMax);
    CHECK(lingering.empty());
    hold(1);
    CHECK(lingering.take_due(now).empty());
    CHECK(lingering.take_all().size() == 1);
}

TEST_CASE("answers to fetches are let through at once where there is little traffic") {
    FetchPace pace;
    auto now = kBegin;
    for (int i = 0; i < 100; ++i) {
        CHECK(pace.wait(now, 500, 1'000) == milliseconds{0});
        now += microseconds{100};
    }
}

TEST_CASE("where there is traffic, one answer is let through in half the wait of a record") {
    FetchPace pace;
    auto now = kBegin;
    CHECK(pace.wait(now, 500, 8'000) == milliseconds{0});  // none came for long
    const auto began = now;
    for (int i = 0; i < 10; ++i) {
        now += microseconds{300};
        now += pace.wait(now, 500, 8'000);
    }
    CHECK(now - began == 10 * linger_time(8'000) / 2);
    CHECK(pace.wait(now + seconds{1}, 500, 8'000) == milliseconds{0});
}

TEST_CASE("an answer that brings much does not wait") {
    FetchPace pace;
    auto now = kBegin;
    for (int i = 0; i < 10; ++i) {
        CHECK(pace.wait(now, 1U << 20, 100'000) == milliseconds{0});
        now += microseconds{300};
    }
}
