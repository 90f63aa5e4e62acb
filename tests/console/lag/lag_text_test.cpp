#include "console/lag/lag_text.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::console;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

LagRow row(const std::string& group, core::Offset lag) {
    LagRow one;
    one.group = group;
    one.where = {"orders", 2};
    one.position = 100;
    one.ends = {5, 100 + lag};
    one.facts = {.lag = lag, .behind = lag ? 1'500ms : 0ms, .position_rate = 3};
    one.drain = lag ? std::nullopt : std::optional<core::Duration>{0s};
    one.history = {0, lag};
    return one;
}

LagPage page_of(std::vector<LagRow> rows) {
    return {.at = core::Timestamp{1'700'000'000'000ms}, .rows = std::move(rows), .took = 12ms};
}

}  // namespace

TEST_CASE("a page goes into JSON and comes back") {
    auto slow = row("billing", 40);
    slow.status = Status::slow;
    slow.why = "far behind";
    slow.loss = Loss::near;
    slow.left = 90s;
    auto page = page_of({slow, row("mail", 0)});
    page.problems = {"a broker is away"};
    const auto back = parse_lag_page(to_json(page));
    REQUIRE(back);
    CHECK(to_json(*back) == to_json(page));
    CHECK(back->rows[0].status == Status::slow);
    CHECK(back->rows[0].left == 90s);
    CHECK_FALSE(parse_lag_page("{}"));
    CHECK_FALSE(parse_lag_page("<html>"));
}

TEST_CASE("records that wait on purpose make no group's drain unknown") {
    auto tier = row("retry", 40);
    tier.facts.delay = 60s;
    auto events = row("retry", 10);
    events.drain = 3s;
    const auto page = page_of({tier, events});
    CHECK(parse_lag_page(to_json(page))->rows[0].is_delayed());
    CHECK_THAT(to_text(page, {}), Contains("3.0 s"));
}

TEST_CASE("a later page prints only the rows that changed") {
    const auto before = page_of({row("billing", 40), row("mail", 0)});
    auto after = before;
    after.rows[1].facts.unmoved = 5s;  // no page shows this
    after.rows[0].facts.behind = 7s;
    const auto change = parse_lag_page(to_json_change(after, before));
    REQUIRE(change);
    REQUIRE(change->rows.size() == 1);
    CHECK(change->rows[0].group == "billing");
    CHECK(change->rows[0].facts.behind == 7s);
    after.rows.pop_back();
    CHECK(to_json_change(after, before).empty());
}

TEST_CASE("the table shows the worst first, and only that if asked") {
    auto stopped = row("billing", 40);
    stopped.status = Status::stopped;
    auto page = page_of({row("mail", 0), stopped});
    page.problems = {"a broker is away"};
    const auto text = to_text(page, {.partitions = true});
    CHECK(text.find("billing") < text.find("mail"));
    CHECK_THAT(text, Contains("STOPPED  billing  orders     2   40   1.5 s") &&
                         Contains("note: a broker is away"));
    CHECK_THAT(to_text(page, {.only_behind = true, .partitions = true}), !Contains("mail"));
}

TEST_CASE("a group is one row with the worst and the sum of its partitions") {
    auto stopped = row("billing", 40);
    stopped.status = Status::stopped;
    stopped.facts.behind = 3min;
    const auto page = page_of({row("mail", 0), row("billing", 2), stopped});
    const auto text = to_text(page, {});
    CHECK(text.find("billing") < text.find("mail"));
    CHECK_THAT(text, Contains("STOPPED  billing           2       1   42  3 min 0 s"));
    CHECK_THAT(text, Contains("2 groups, 3 partitions: 1 STOPPED; 42 records wait, the oldest for "
                              "3 min 0 s\n"));
    CHECK_THAT(to_text(page, {.only_behind = true}), !Contains("mail"));
    CHECK_THAT(to_text(page_of({row("mail", 0)}), {}), Contains("1 group, 1 partition: all OK\n"));
    auto in_part = page_of({row("mail", 0)});
    in_part.problems = {"no answer"};
    CHECK_THAT(to_text(in_part, {}), Contains("1 partition: what was read is OK\n"));
    in_part.rows.clear();
    CHECK_THAT(to_text(in_part, {}), Catch::EndsWith("note: no answer\nnothing was read\n"));
    auto lost = row("mail", 0);
    lost.loss = Loss::now;
    CHECK_THAT(to_text(page_of({lost}), {}), Contains("all OK; 1 group lost records\n"));
}

TEST_CASE("an unknown age is no number") {
    auto one = row("billing", 40);
    one.aged = false;
    CHECK_THAT(to_json(page_of({one})), Contains("\"lag_seconds\":null"));
    CHECK_THAT(to_text(page_of({one}), {}), Contains("?"));
    CHECK_THAT(to_metrics(page_of({one})), !Contains("kafka_consumergroup_lag_seconds{") &&
                                               Contains("kafka_consumergroup_lag{"));
}

TEST_CASE("metrics have the names and labels that dashboards of lag expect") {
    const auto text = to_metrics(page_of({row("bill\"ing", 40), row("mail", 2)}));
    for (const auto* line :
         {"kafka_consumergroup_lag{consumergroup=\"bill\\\"ing\",topic=\"orders\",partition=\"2\"} "
          "40\n",
          "kafka_consumergroup_lag_seconds{consumergroup=\"mail\",topic=\"orders\",partition=\"2\"}"
          " "
          "1.5\n",
          "kafka_consumergroup_lag_sum{consumergroup=\"mail\",topic=\"orders\"} 2\n",
          "kafka_consumergroup_current_offset{consumergroup=\"mail\",topic=\"orders\",partition="
          "\"2\"}"
          " 100\n",
          "kafka_topic_partition_oldest_offset{topic=\"orders\",partition=\"2\"} 5\n",
          "kminion_kafka_consumer_group_topic_lag{group_id=\"mail\",topic_name=\"orders\"} 2\n",
          "# TYPE kafka_consumergroup_lag gauge\n"}) {
        CHECK_THAT(text, Contains(line));
    }
}

TEST_CASE("durations have two units at most") {
    CHECK(duration_words(1'234ms) == "1.2 s");
    CHECK(duration_words(75s) == "75 s");
    CHECK(duration_words(200s) == "3 min 20 s");
    CHECK(duration_words(3h + 25min) == "3 h 25 min");
    CHECK(duration_words(52h) == "2 d 4 h");
}
