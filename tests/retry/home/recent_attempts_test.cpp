#include "retry/home/recent_attempts.hpp"

#include <catch2/catch.hpp>

using namespace beckon::retry;

namespace {

std::vector<std::uint32_t> numbers_of(const RecentAttempts& attempts, std::string_view webhook) {
    std::vector<std::uint32_t> numbers;
    for (const auto& one : attempts.of(webhook)) numbers.push_back(one.number);
    return numbers;
}

}  // namespace

TEST_CASE("the last attempts of each webhook are there, the newest first", "[retry][dispatch]") {
    RecentAttempts attempts{{.of_each = 3}};
    for (std::uint32_t i = 0; i < 5; ++i)
        attempts.add("o", "a", {.delivery = "d", .number = i, .why = ""});
    attempts.add("o", "b", {.delivery = "d", .number = 9, .why = ""});
    CHECK(numbers_of(attempts, "a") == std::vector<std::uint32_t>{4, 3, 2});
    CHECK(numbers_of(attempts, "b") == std::vector<std::uint32_t>{9});
    CHECK(numbers_of(attempts, "c").empty());
    CHECK(attempts.bytes() == 4 * RecentAttempts::kEntryBytes);
}

TEST_CASE("of all webhooks together the oldest go first", "[retry][dispatch]") {
    RecentAttempts attempts{{.of_each = 3, .bytes = 4 * RecentAttempts::kEntryBytes}};
    attempts.add("o", "quiet", {.delivery = "d", .number = 1, .why = ""});
    for (std::uint32_t i = 0; i < 100; ++i)
        attempts.add("o", "busy", {.delivery = "d", .number = i, .why = ""});
    CHECK(numbers_of(attempts, "quiet") == std::vector<std::uint32_t>{1});
    for (std::uint32_t i = 0; i < 3; ++i) {
        attempts.add("o", "w" + std::to_string(i), {.delivery = "d", .number = i, .why = ""});
    }
    CHECK(numbers_of(attempts, "quiet").empty());
    CHECK(numbers_of(attempts, "busy") == std::vector<std::uint32_t>{99});
    CHECK(attempts.bytes() == 4 * RecentAttempts::kEntryBytes);
    for (std::uint32_t i = 0; i < 1'000; ++i) {
        attempts.add("o", "x" + std::to_string(i), {.delivery = "d", .why = ""});
        REQUIRE(attempts.bytes() == 4 * RecentAttempts::kEntryBytes);
    }
}

TEST_CASE("answers are cut, and count with their bytes", "[retry][dispatch]") {
    RecentAttempts attempts{{.bytes = 10 * RecentAttempts::kEntryBytes, .answer_bytes = 256}};
    attempts.add("quiet", "q", {.delivery = "d", .number = 1, .why = "", .answer = "no"});
    for (std::uint32_t i = 0; i < 50; ++i) {
        attempts.add("loud", "w" + std::to_string(i % 7),
                     {.delivery = "d", .number = i, .why = "", .answer = std::string(500, 'x')});
        REQUIRE(attempts.bytes() <= 10 * RecentAttempts::kEntryBytes);
    }
    CHECK(attempts.bytes() > 8 * RecentAttempts::kEntryBytes);
    CHECK(attempts.of("w0").front().answer == std::string(256, 'x'));
    CHECK(attempts.of("q").front().answer == "no");
}

// Fails where the oldest of all go first.
TEST_CASE("one owner's attempts push out nobody else's", "[retry][dispatch]") {
    RecentAttempts attempts{{.of_each = 3, .bytes = 20 * RecentAttempts::kEntryBytes}};
    attempts.add("quiet", "q", {.delivery = "d", .number = 1, .why = ""});
    for (std::uint32_t i = 0; i < 1'000; ++i) {
        attempts.add("busy", "b" + std::to_string(i), {.delivery = "d", .number = i, .why = ""});
    }
    CHECK(attempts.bytes() == 20 * RecentAttempts::kEntryBytes);
    CHECK(numbers_of(attempts, "q") == std::vector<std::uint32_t>{1});
    CHECK(numbers_of(attempts, "b999") == std::vector<std::uint32_t>{999});
}

TEST_CASE("a long reason is cut", "[retry][dispatch]") {
    RecentAttempts attempts;
    attempts.add("o", "a", {.delivery = "d", .why = std::string(10'000, 'x')});
    CHECK(attempts.of("a").front().why.size() == 256);
}

TEST_CASE("the attempts of a webhook are counted by the hour, for a day", "[retry][dispatch]") {
    using namespace std::chrono_literals;
    RecentAttempts attempts{{.of_each = 2}};
    const beckon::core::Timestamp midnight{24h * 20'000};
    const auto at = [&](beckon::core::Duration after, Outcome outcome) {
        attempts.add("o", "a",
                     {.delivery = "d",
                      .at = midnight + std::chrono::duration_cast<std::chrono::milliseconds>(after),
                      .outcome = outcome,
                      .why = ""});
    };
    at(10min, Outcome::delivered);
    at(59min, Outcome::refused);
    at(60min, Outcome::delivered);
    at(30min, Outcome::delivered);  // the clock has stepped back
    CHECK(attempts.hours_of("a") ==
          std::vector<AttemptHour>{{midnight, 2, 1}, {midnight + 1h, 2, 2}});
    at(24h, Outcome::refused);
    CHECK(attempts.hours_of("a") ==
          std::vector<AttemptHour>{{midnight + 1h, 2, 2}, {midnight + 24h, 1, 0}});
    CHECK(attempts.hours_of("b").empty());
}

TEST_CASE("a summary counts the attempts that are there, and has the newest", "[retry][dispatch]") {
    RecentAttempts attempts{{.of_each = 3}};
    CHECK(attempts.summary_of("a").attempts == 0);
    CHECK_FALSE(attempts.summary_of("a").last);
    for (std::uint32_t i = 0; i < 5; ++i) {
        attempts.add("o", "a",
                     {.delivery = "d",
                      .number = i,
                      .outcome = i % 2 == 0 ? Outcome::delivered : Outcome::refused,
                      .why = ""});
    }
    const auto summary = attempts.summary_of("a");
    CHECK(summary.attempts == 3);
    CHECK(summary.delivered == 2);  // 2 and 4
    CHECK(summary.last->number == 4);
}
