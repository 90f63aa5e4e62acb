// When the writer of the embedded log waits until puts have company, and for how long. Time is
// given by the tests of Company; those of the log look at what comes out, not at how long it takes.
#include "log/embedded/company.hpp"

#include "log/contract_support.hpp"
#include "log/embedded/embedded_under_test.hpp"

#include <algorithm>
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
using log::embedded::Company;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const SteadyTime kBegin = SteadyTime{} + seconds{1000};

/// Half a second of batches with a put each; leaves the time of the last in `now`.
void have_traffic(Company& company, int per_second, SteadyTime& now) {
    for (int i = 0; i < per_second / 2; ++i) {
        now += microseconds{1'000'000 / per_second};
        company.begun(1, now);
    }
}

/// Batches that begin when they are due, each with so many puts, until one looks; leaves its
/// beginning in `now`.
void until_it_learns(Company& company, std::size_t puts, SteadyTime& now) {
    for (std::size_t i = 0; !company.learning(); ++i) {
        REQUIRE(i <= Company::kLearnEvery);
        now = std::max(now, company.due(now));
        company.begun(puts, now);
    }
}

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
    Company company;
    auto now = kBegin;
    CHECK(company.due(now) <= now);
    have_traffic(company, 1'000, now);
    CHECK(company.due(now) <= now);
    have_traffic(company, 8'000, now);
    REQUIRE(company.due(now) > now);
    CHECK(company.due(now + milliseconds{500}) <= now + milliseconds{500});
}

TEST_CASE("where there are many, a batch begins so long after the one before", "[embedded]") {
    Company company;
    auto now = kBegin;
    have_traffic(company, 8'000, now);
    CHECK(company.due(now) == now + batch_pace(8'000));
    // A batch whose write takes longer than that is followed at once.
    CHECK(company.due(now + milliseconds{7}) <= now + milliseconds{7});
}

TEST_CASE("records that are no puts are no traffic", "[embedded]") {
    Company company;
    auto now = kBegin;
    for (int i = 0; i < 10'000; ++i) company.begun(0, now += microseconds{50});
    CHECK(company.due(now) <= now);
}

TEST_CASE("where puts come late too, each batch waits for its whole time", "[embedded]") {
    Company company;
    auto now = kBegin;
    have_traffic(company, 8'000, now);
    until_it_learns(company, 40, now);
    company.learned(40, 80);
    CHECK(company.enough() > 1'000'000);
}

TEST_CASE("where all that will come have come, their number is enough, until it is learned again",
          "[embedded]") {
    Company company;
    auto now = kBegin;
    have_traffic(company, 8'000, now);
    until_it_learns(company, 40, now);
    company.learned(16, 16);
    CHECK(company.enough() == 16);
    until_it_learns(company, 16, now);
    CHECK(company.enough() > 1'000'000);  // the one that looks waits for all
    company.learned(64, 64);
    CHECK(company.enough() == 64);
}

TEST_CASE("puts that wait for company are written when the log is closed", "[embedded]") {
    EmbeddedUnderTest log;
    std::size_t sent = 0;
    std::size_t answered = 0;
    {
        const auto publisher = log.log().open_publisher(log.executor());
        publisher->may_gather();
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

TEST_CASE("senders that wait for their answers lose none and keep their order where puts gather",
          "[embedded]") {
    constexpr std::size_t kSenders = 8;
    constexpr std::size_t kEach = 2'000;
    EmbeddedUnderTest log;
    const auto publisher = log.log().open_publisher(log.executor());
    publisher->may_gather();
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
