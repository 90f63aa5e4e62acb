// When the writer of the embedded log lets puts linger, and for how long. The tests of Linger set
// the time; those of the log check the result, not how long it takes.
#include "log/embedded/linger.hpp"

#include "log/contract_support.hpp"
#include "log/embedded/embedded_under_test.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using log::SteadyTime;
using log::Topic;
using log::embedded::batch_pace;
using log::embedded::Linger;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const SteadyTime kBegin = SteadyTime{} + seconds{1000};

/// Half a second of batches with a put each; leaves the time of the last in `now`.
void have_traffic(Linger& linger, int per_second, SteadyTime& now) {
    for (int i = 0; i < per_second / 2; ++i) {
        now += microseconds{1'000'000 / per_second};
        linger.begun(1, now);
    }
}

/// When the next batch is due.
SteadyTime due(const Linger& linger, SteadyTime now) { return linger.due(linger.pace(now)); }

/// A probe that counts `when_due` puts when the batch is due and `in_the_end` in all, then batches
/// until the next probe.
void probe(Linger& linger, std::size_t when_due, std::size_t in_the_end, SteadyTime& now) {
    REQUIRE(linger.probes(when_due));
    linger.probed(when_due, in_the_end);
    for (std::size_t i = 0; !linger.probes(1); ++i) {
        REQUIRE(i < Linger::kProbeEvery);
        linger.begun(1, now += milliseconds{5});
    }
}

constexpr std::size_t kMore = 1'000'000;

}  // namespace

TEST_CASE("the more puts there are, the further apart batches begin", "[embedded]") {
    CHECK(batch_pace(0) == milliseconds{0});
    CHECK(batch_pace(2'999) == milliseconds{0});
    CHECK(batch_pace(3'000) > milliseconds{0});
    for (std::size_t rate = 0; rate < 50'000; rate += 100) {
        CHECK(batch_pace(rate) <= batch_pace(rate + 100));
        CHECK(batch_pace(rate) <= milliseconds{10});
    }
}

TEST_CASE("a put does not wait where there are few, nor after a silence", "[embedded]") {
    Linger linger;
    auto now = kBegin;
    CHECK(due(linger, now) <= now);
    have_traffic(linger, 1'000, now);
    CHECK(due(linger, now) <= now);
    have_traffic(linger, 8'000, now);
    REQUIRE(due(linger, now) > now);
    CHECK(due(linger, now + milliseconds{500}) <= now + milliseconds{500});
}

TEST_CASE("with many records, batches begin at a steady pace", "[embedded]") {
    Linger linger;
    auto now = kBegin;
    have_traffic(linger, 8'000, now);
    CHECK(due(linger, now) == now + batch_pace(8'000));
    // A batch whose write takes longer than that is followed at once.
    CHECK(due(linger, now + milliseconds{7}) <= now + milliseconds{7});
}

TEST_CASE("records that are no puts are no traffic, and nothing is learned without puts",
          "[embedded]") {
    Linger linger;
    auto now = kBegin;
    for (int i = 0; i < 10'000; ++i) linger.begun(0, now += microseconds{50});
    CHECK(due(linger, now) <= now);
    CHECK_FALSE(linger.probes(0));
    CHECK(linger.probes(1));
}

TEST_CASE("after two batches without a late put their number closes the next ones", "[embedded]") {
    Linger linger;
    auto now = kBegin;
    linger.probed(16, 16);
    CHECK(linger.enough() > kMore);  // once may be a sender that waits for a processor
    for (std::size_t i = 0; i < Linger::kProbeEvery; ++i) {
        CHECK_FALSE(linger.probes(1));
        linger.begun(16, now += milliseconds{5});
    }
    REQUIRE(linger.probes(14));
    linger.probed(14, 14);
    CHECK(linger.enough() == 16);
    for (std::size_t i = 0; i + 1 < Linger::kProbeEvery; ++i) {
        CHECK(linger.enough() == 16);
        linger.begun(16, now += milliseconds{1});
    }
    linger.begun(16, now += milliseconds{1});
    CHECK(linger.enough() > kMore);  // the batch that probes waits for all
}

TEST_CASE("once puts come late again, each batch waits for its whole time", "[embedded]") {
    Linger linger;
    auto now = kBegin;
    probe(linger, 16, 16, now);
    probe(linger, 16, 16, now);
    probe(linger, 16, 17, now);
    linger.probed(16, 16);
    CHECK(linger.enough() > kMore);
}

TEST_CASE("puts that linger are written when the log is closed", "[embedded]") {
    EmbeddedUnderTest log{[](log::EmbeddedConfig& c) { c.publish_timeout = seconds{60}; }};
    std::size_t sent = 0;
    std::size_t answered = 0;
    {
        const auto publisher = log.log().open_publisher(log.executor());
        publisher->may_linger();
        const auto put = [&] {
            publisher->publish({Topic::kNotifications, 0}, record("k", std::to_string(sent++)),
                               [&](const auto& result) {
                                   REQUIRE(result);
                                   ++answered;
                               });
        };
        // More than a tenth of a second, as fast as they are taken: the last ones wait.
        const auto until = std::chrono::steady_clock::now() + milliseconds{250};
        while (std::chrono::steady_clock::now() < until) {
            for (int i = 0; i < 100; ++i) put();
            REQUIRE(log.wait_until([&] { return sent - answered < 1'000; }));
        }
        for (int i = 0; i < 10; ++i) put();
    }
    log.close();
    log.open();
    CHECK(read_all(log, {Topic::kNotifications, 0}).size() == sent);
}

TEST_CASE("senders that wait for their answers lose none and keep their order where puts linger",
          "[embedded]") {
    constexpr std::size_t kSenders = 8;
    constexpr std::size_t kEach = 500;
    EmbeddedUnderTest log;
    const auto publisher = log.log().open_publisher(log.executor());
    publisher->may_linger();
    std::size_t answered = 0;
    std::function<void(std::size_t, std::size_t)> send = [&](std::size_t who, std::size_t number) {
        publisher->publish({Topic::kNotifications, 0},
                           record(std::to_string(who), std::to_string(number)),
                           [&, who, number](const auto& result) {
                               REQUIRE(result);
                               ++answered;
                               if (number + 1 < kEach) send(who, number + 1);
                           });
    };
    for (std::size_t who = 0; who < kSenders; ++who) send(who, 0);
    REQUIRE(log.wait_until([&] { return answered == kSenders * kEach; }));
    const auto all = read_all(log, {Topic::kNotifications, 0});
    REQUIRE(all.size() == kSenders * kEach);
    std::map<std::string, std::size_t> next;
    for (const auto& one : all) CHECK(one.value == std::to_string(next[one.key]++));
}
