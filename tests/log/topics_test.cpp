#include "log/control.hpp"
#include "log/topics_admin.hpp"
#include "support/fake_topics_admin.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using beckon::test::ManualClock;
using beckon::test::SimExecutor;
using log::Difference;
using log::Existing;
using log::Topic;
using log::TopicSpec;
using std::chrono::hours;
using std::chrono::seconds;
using test::all_of;
using test::FakeAdmin;
using test::layout;
using test::spec_of;

namespace {

constexpr seconds kWait{5};

}  // namespace

TEST_CASE("the table has every log topic once, stamped by the log") {
    const auto table = log::topic_table(layout());
    std::set<Topic> topics;
    for (const auto& spec : table) {
        CHECK(topics.insert(spec.topic).second);
        CHECK(spec.settings.at("message.timestamp.type") == "LogAppendTime");
        CHECK(spec.settings.at("unclean.leader.election.enable") == "false");
        CHECK(spec.settings.contains("cleanup.policy"));
        CHECK(spec.replication_factor == 3);
    }
    CHECK(topics.size() == Topic::kFixed + layout().tiers.size());
}

TEST_CASE("four topics are one sequence, all others have the partitions of the UAIDs") {
    for (const auto& spec : log::topic_table(layout())) {
        const bool one = spec.topic == Topic::kControl || spec.topic == Topic::kOwnership ||
                         spec.topic == Topic::kBroadcasts ||
                         spec.topic == Topic::kReliabilityTotals;
        CHECK(spec.partitions == (one ? 1 : 8));
    }
}

TEST_CASE("notifications outlive the longest TTL and the history window") {
    auto options = layout();
    options.max_ttl = hours{24 * 30};
    options.history_window = hours{1};
    const auto settings = spec_of(Topic::kNotifications, options).settings;
    CHECK(settings.at("cleanup.policy") == "compact,delete");
    CHECK(settings.at("retention.ms") == std::to_string(31LL * 24 * 3600 * 1000));
    CHECK(settings.at("min.compaction.lag.ms") == "3600000");
    CHECK(settings.at("delete.retention.ms") == std::to_string(7LL * 24 * 3600 * 1000));
}

TEST_CASE("acks=all means two brokers as soon as there is more than one replica") {
    const auto min_insync = [](int replication_factor) {
        return spec_of(Topic::kControl, layout(replication_factor))
            .settings.at("min.insync.replicas");
    };
    CHECK(min_insync(1) == "1");
    CHECK(min_insync(2) == "2");
    CHECK(min_insync(3) == "2");
}

TEST_CASE("a plan names what is missing and what is different, with both values") {
    auto existing = all_of(layout());
    existing.erase(Topic::kEvents);
    existing.at(Topic::kSubscriptions).partitions = 4;
    existing.at(Topic::kReliability).settings["retention.ms"] = "1000";
    existing.at(Topic::kWebhooks).settings["cleanup.policy"] = "delete";
    existing.at(Topic::kNotifications).settings["cleanup.policy"] = "delete,compact";
    const auto plan = log::plan(log::topic_table(layout()), existing);
    REQUIRE(plan.missing.size() == 1);
    CHECK(plan.missing[0].topic == Topic::kEvents);
    CHECK(plan.differences ==
          std::vector<Difference>{
              {Topic::kSubscriptions, "partitions", "4", "8", true},
              {Topic::kWebhooks, "cleanup.policy", "delete", "compact", true},
              {Topic::kReliability, "retention.ms", "1000", "5184000000", false},
          });
    CHECK(plan.as_expected == existing.size() - 3);
    const auto text = to_string(plan, "test.");
    CHECK_THAT(text, Catch::Contains("create  test.events: 8 partitions"));
    CHECK_THAT(text, Catch::Contains("wrong   test.subscriptions: partitions is 4, expected 8"));
    CHECK_THAT(text, Catch::Contains("differs test.reliability: retention.ms is 1000"));
}

TEST_CASE("one copy is as expected only where it was asked for, one in-sync of three never") {
    CHECK(log::plan(log::topic_table(layout(1)), all_of(layout(1))).differences.empty());
    const auto table = log::topic_table(layout(3));
    FakeAdmin admin;
    admin.existing = all_of(layout(1));
    const auto refused = log::check_topics(admin, table);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message,
               Catch::Contains("notifications: replication.factor is 1, expected 3") &&
                   Catch::Contains("--replication-factor 1"));
    CHECK(log::plan(table, all_of(layout(2))).differences.empty());
    auto existing = all_of(layout(3));
    existing.at(Topic::kNotifications).settings["min.insync.replicas"] = "1";
    CHECK(log::plan(table, existing).differences ==
          std::vector<Difference>{{Topic::kNotifications, "min.insync.replicas", "1", "2", true}});
}

TEST_CASE("a role does not start with log topics that are missing or break a promise") {
    const auto table = log::topic_table(layout());
    FakeAdmin admin;
    admin.existing = all_of(layout());
    CHECK(log::check_topics(admin, table));

    admin.existing.at(Topic::kReliability).settings["retention.ms"] = "1000";
    CHECK(log::check_topics(admin, table));  // the operator's choice

    admin.existing.at(Topic::kEvents).settings["message.timestamp.type"] = "CreateTime";
    admin.existing.at(Topic::kWebhooks).partitions = 7;
    admin.existing.at(Topic::kControl).partitions = 9;  // more than are used
    const auto wrong = log::check_topics(admin, table);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().fault == core::Fault::conflict);
    CHECK_THAT(
        wrong.error().message,
        Catch::Contains("events: message.timestamp.type is CreateTime, expected LogAppendTime") &&
            Catch::Contains("webhooks: partitions is 7, expected 8") &&
            !Catch::Contains("control: partitions"));

    admin.existing.erase(Topic::kControl);
    const auto missing = log::check_topics(admin, table);
    REQUIRE_FALSE(missing);
    CHECK(missing.error().fault == core::Fault::not_found);
    CHECK_THAT(missing.error().message,
               Catch::Contains("control") && Catch::Contains("beckon topics create"));
}

TEST_CASE("a retention that is too short for a promise is refused with both values") {
    const auto table = log::topic_table(layout());
    const std::string setting =
        GENERATE("retention.ms", "delete.retention.ms", "min.compaction.lag.ms");
    CAPTURE(setting);
    FakeAdmin admin;
    admin.existing = all_of(layout());
    auto& is = admin.existing.at(Topic::kNotifications).settings[setting];
    const auto expected = is;
    is = "60000";
    const auto refused = log::check_topics(admin, table);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message,
               Catch::Contains("notifications: " + setting + " is 60000, expected " + expected));
    is = "99999999999";
    CHECK(log::check_topics(admin, table));  // longer is the operator's choice
}

TEST_CASE("each setting of each log topic that is worse is refused or named, with both values") {
    const std::map<std::string, std::string> worse = {{"cleanup.policy", "delete,compact,else"},
                                                      {"delete.retention.ms", "60000"},
                                                      {"max.compaction.lag.ms", "1"},
                                                      {"max.message.bytes", "1000"},
                                                      {"message.timestamp.type", "CreateTime"},
                                                      {"min.cleanable.dirty.ratio", "0.9"},
                                                      {"min.compaction.lag.ms", "1000"},
                                                      {"min.insync.replicas", "1"},
                                                      {"retention.bytes", "1000000000"},
                                                      {"retention.ms", "60000"},
                                                      {"segment.ms", "1"},
                                                      {"unclean.leader.election.enable", "true"}};
    const std::set<std::string> named = {"max.compaction.lag.ms", "max.message.bytes",
                                         "min.cleanable.dirty.ratio", "segment.ms"};
    const auto table = log::topic_table(layout(3));
    for (const auto& spec : table) {
        for (const auto& [setting, expected] : spec.settings) {
            CAPTURE(spec.topic.name(), setting);
            const bool is_choice =
                spec.topic == Topic::kReliability && setting.starts_with("retention.");
            const bool essential = !named.contains(setting) && !is_choice;
            FakeAdmin admin;
            admin.existing = all_of(layout(3));
            const auto& is = admin.existing.at(spec.topic).settings[setting] = worse.at(setting);
            CHECK(log::plan(table, admin.existing).differences ==
                  std::vector<Difference>{{spec.topic, setting, is, expected, essential}});
            const auto checked = log::check_topics(admin, table);
            REQUIRE(checked.has_value() == !essential);
            if (checked) continue;
            CHECK_THAT(checked.error().message,
                       Catch::Contains(spec.topic.name() + ": " + setting + " is " + is +
                                       ", expected " + expected));
        }
    }
}

TEST_CASE("the brokers' setting says how long tombstones are kept") {
    const auto table = log::topic_table(layout());
    FakeAdmin admin;
    admin.existing = all_of(layout());
    for (const auto topic : {Topic::kNotifications, Topic::kSubscriptions}) {
        admin.existing.at(topic).settings["delete.retention.ms"] = "1209600000";
    }
    const auto facts = log::check_topics(admin, table);
    REQUIRE(facts);
    CHECK(facts->delete_retention == std::chrono::hours{24 * 14});
    CHECK(facts->message_bytes_max == 1'048'588);
}

TEST_CASE("the brokers' settings say how large a batch may be") {
    FakeAdmin admin;
    admin.existing = all_of(layout());
    admin.existing.at(Topic::kEvents).settings["max.message.bytes"] = "2097152";
    admin.existing.at(Topic::kRetryDone).settings["max.message.bytes"] = "65536";
    const auto facts = log::check_topics(admin, log::topic_table(layout()));
    REQUIRE(facts);
    CHECK(facts->message_bytes_max == 65'536);
}

TEST_CASE("control is read as it was written, and only what changed is written again") {
    core::SystemClock clock;
    const auto log = log::make_memory_log({.clock = &clock});
    const auto none = log::read_control(*log, kWait);
    REQUIRE_FALSE(none);
    CHECK(none.error().fault == core::Fault::not_found);

    log::Control control{"id", "2026-01-01T00:00:00Z", 8, {seconds{0}, seconds{60}}, std::nullopt};
    REQUIRE(log::write_control(*log, control, std::nullopt, kWait));
    CHECK(log::read_control(*log, kWait) == control);

    const auto before = log->records({Topic::kControl, 0}).size();
    auto changed = control;
    changed.keyring_fingerprint = "fingerprint";
    REQUIRE(log::write_control(*log, changed, control, kWait));
    CHECK(log->records({Topic::kControl, 0}).size() == before + 1);
    CHECK(log::read_control(*log, kWait) == changed);
}

TEST_CASE("control remembers every origin, whoever writes at the same time") {
    core::SystemClock clock;
    const auto log = log::make_memory_log({.clock = &clock});
    log::Control control{"id", "now", 8, {}, std::nullopt};
    REQUIRE(log::write_control(*log, control, std::nullopt, kWait));
    for (const std::string origin :
         {"https://b.example", "http://a.example:8082", "https://b.example"}) {
        REQUIRE(log::write_origin(*log, origin, kWait));
    }
    control.origins = {"http://a.example:8082", "https://b.example"};
    CHECK(log::read_control(*log, kWait) == control);
}

TEST_CASE("a control that was written halfway is as good as none") {
    core::SystemClock clock;
    const auto log = log::make_memory_log({.clock = &clock});
    const log::Control control{"id", "now", 8, {}, std::nullopt};
    REQUIRE(log::write_control(*log, control, std::nullopt, kWait));
    // The last one is what makes it whole: all but that into another log.
    const auto records = log->records({Topic::kControl, 0});
    const auto half = log::make_memory_log({.clock = &clock});
    ManualClock still;
    SimExecutor executor{still};
    const auto publisher = half->open_publisher(executor);
    for (std::size_t i = 0; i + 1 < records.size(); ++i) {
        publisher->publish({Topic::kControl, 0}, records[i].record, [](const auto&) {});
    }
    executor.run();
    const auto read = log::read_control(*half, kWait);
    REQUIRE_FALSE(read);
    CHECK(read.error().fault == core::Fault::not_found);
}
