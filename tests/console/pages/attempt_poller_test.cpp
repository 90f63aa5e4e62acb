#include "console/pages/attempt_poller.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using console::AttemptSummary;
using console::DeadCounts;
using console::parse_attempts;
using console::parse_dead_counts;

TEST_CASE("the attempts that a process reports are read") {
    const auto page = parse_attempts(
        R"({"webhooks": [{"webhook": "a", "attempts": 100, "delivered": 97,
            "last": {"at": "2026-11-22T10:00:00.000Z", "outcome": "refused", "status": 500,
                     "why": "the receiver answered 500"}},
           {"webhook": "b", "attempts": 0, "delivered": 0, "last": null}], "next": "b"})");
    CHECK(page.next == "b");
    const auto& reported = page.summaries;
    CHECK(reported.at("a") == AttemptSummary{.attempts = 100,
                                             .delivered = 97,
                                             .at = "2026-11-22T10:00:00.000Z",
                                             .outcome = "refused",
                                             .status = 500,
                                             .why = "the receiver answered 500"});
    CHECK(reported.at("b") == AttemptSummary{});
}

TEST_CASE("an answer of another form reports no attempt") {
    for (const auto* text :
         {"", "[]", "{}", R"({"webhooks": [1, {}, {"webhook": 5}]})", "<html>"}) {
        CAPTURE(text);
        CHECK(parse_attempts(text).summaries.empty());
        CHECK(parse_attempts(text).next.empty());
    }
    CHECK(parse_attempts(R"({"webhooks": [{"webhook": "a", "attempts": "many", "last": 7}]})")
              .summaries.at("a") == AttemptSummary{});
}

TEST_CASE("the number of dead letters is read where an operator is told it") {
    CHECK(parse_dead_counts(R"({"letters": [], "next": null, "passed_over": 2, "all": 7})") ==
          DeadCounts{.letters = 7, .passed_over = 2});
    for (const auto* text : {"", "[]", R"({"letters": [], "next": null, "passed_over": 2})"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_dead_counts(text));
    }
}

TEST_CASE("without a process to ask nothing is known and nothing waits") {
    const console::RetryApi nobody{{}, nullptr};
    const console::AttemptPoller poller{nobody};
    CHECK_FALSE(poller.of("a"));
    CHECK_FALSE(poller.dead_letters());
}
