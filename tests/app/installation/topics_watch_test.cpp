#include "app/installation/topics_watch.hpp"

#include "support/fake_topics_admin.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using app::TopicsWatch;
using log::Topic;

namespace {

/// The watch of a process with a role, over topics that a test changes.
struct World {
    explicit World(const std::string& role)
        : watch({.role = role, .prefix = "p.", .table = log::topic_table(test::layout())}, {},
                health, metrics) {}

    /// What is warned of after two looks.
    std::string warning() {
        watch.judge(topics);
        watch.judge(topics);
        const auto found = health.report().warnings.find("topics");
        return found == health.report().warnings.end() ? "" : health.report().warnings["topics"];
    }
    double wrong() { return metrics.gauge("beckon_log_wrong_topics", "").Value(); }

    ops::Health health;
    ops::Metrics metrics;
    log::Existing topics = test::all_of(test::layout());
    TopicsWatch watch;
};

}  // namespace

TEST_CASE("topics that are as they were made say nothing") {
    World world{"endpoint"};
    CHECK(world.warning().empty());
    CHECK(world.wrong() == 0);
    CHECK(world.health.report().ready);
}

TEST_CASE("a setting that a promise rests on is a warning until it is set right") {
    World world{"endpoint"};
    auto& retention = world.topics.at(Topic::kNotifications).settings.at("retention.ms");
    const auto before = std::exchange(retention, "600000");
    CHECK(world.warning() == "p.notifications: retention.ms is 600000, expected " + before);
    world.topics.at(Topic::kSubscriptions).settings["cleanup.policy"] = "delete";
    CHECK(world.warning().find("p.subscriptions: cleanup.policy is delete") != std::string::npos);
    CHECK(world.wrong() == 2);
    CHECK(world.health.report().ready);
    world.topics = test::all_of(test::layout());
    CHECK(world.warning().empty());
    CHECK(world.wrong() == 0);
}

TEST_CASE("a setting that no promise rests on is the operator's choice") {
    World world{"edge"};
    world.topics.at(Topic::kNotifications).settings["segment.ms"] = "1000";
    CHECK(world.warning().empty());
}

TEST_CASE("a topic that is gone ends the readiness of a role that needs it, and of no other") {
    World endpoint{"endpoint"};
    endpoint.topics.erase(Topic::kNotifications);
    CHECK(endpoint.warning() == "log topics are gone: p.notifications");
    CHECK(endpoint.health.report().faults.at("topics") == "the log topic is gone: p.notifications");
    CHECK(endpoint.wrong() == 1);
    World reliability{"reliability"};
    reliability.topics.erase(Topic::kNotifications);
    CHECK(reliability.warning() == "log topics are gone: p.notifications");
    CHECK(reliability.health.report().ready);
    World retry{"retry"};
    retry.topics.erase(Topic::retry(1));
    CHECK_FALSE(retry.warning().empty());
    CHECK_FALSE(retry.health.report().ready);
    endpoint.topics = test::all_of(test::layout());
    CHECK(endpoint.warning().empty());
    CHECK(endpoint.health.report().ready);
}

TEST_CASE("a topic that one look misses is not gone yet") {
    World world{"endpoint"};
    auto without = world.topics;
    without.erase(Topic::kNotifications);
    world.watch.judge(without);
    CHECK(world.health.report().ready);
    world.watch.judge(world.topics);
    world.watch.judge(without);
    CHECK(world.health.report().ready);
    world.watch.judge(without);
    CHECK_FALSE(world.health.report().ready);
}
