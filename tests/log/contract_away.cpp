#include "log/contract_support.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using log::Topic;
using log::TopicPartition;

namespace {
const TopicPartition kWhere{Topic::kNotifications, 1};
const auto kSlack = std::chrono::seconds{5};
}  // namespace

TEST_CASE("while the log is away a publish is answered with an error in bounded time") {
    const auto log = make_log_under_test({});
    if (!log->go_away) return;
    const auto publisher = log->log().open_publisher(log->executor());
    REQUIRE(publish_all(*log, *publisher, kWhere, {record("before")})[0]);
    log->go_away();
    std::optional<core::Result<log::Appended>> answer;
    publisher->publish(kWhere, record("while away"), [&](const auto& r) { answer = r; });
    REQUIRE(log->wait_until([&] { return answer.has_value(); }, log->publish_timeout + kSlack));
    REQUIRE_FALSE(*answer);
    CHECK(answer->error().retryable());
    CHECK(publisher->unanswered() == 0);
    log->come_back();
}

TEST_CASE("when the log is back everything goes on without a restart") {
    const auto log = make_log_under_test({});
    if (!log->go_away) return;
    const auto publisher = log->log().open_publisher(log->executor());
    const auto before = numbered("before", 20);
    std::vector<Read> written;
    const auto answers = publish_all(*log, *publisher, kWhere, before);
    for (std::size_t i = 0; i < before.size(); ++i) {
        REQUIRE(answers[i]);
        written.push_back(expected(before[i], *answers[i]));
    }
    Collector live{*log, kWhere, 0, 5};
    REQUIRE(log->wait_until([&] { return live.seen.size() == before.size(); }));
    log->go_away();
    std::size_t failed = 0;
    publisher->publish(kWhere, record("while away"), [&](const auto& r) { failed += r ? 0U : 1U; });
    REQUIRE(log->wait_until([&] { return failed == 1; }, log->publish_timeout + kSlack));
    log->come_back();

    std::optional<Read> after;
    REQUIRE(log->wait_until(
        [&] {
            if (publisher->unanswered() == 0 && !after) {
                publisher->publish(kWhere, record("after"), [&](const auto& r) {
                    if (r && !after) after = expected(record("after"), *r);
                });
            }
            return after.has_value();
        },
        std::chrono::seconds{60}));
    REQUIRE(log->wait_until([&] { return !live.seen.empty() && live.seen.back() == *after; },
                            std::chrono::seconds{60}));
    // Nothing acknowledged is lost, and the reader saw all that the log holds, each record once.
    const std::vector head(live.seen.begin(),
                           live.seen.begin() + static_cast<std::ptrdiff_t>(written.size()));
    CHECK(head == written);
    CHECK(read_all(*log, kWhere) == live.seen);
    CHECK(ends_of(*log, kWhere).has_value());
}
