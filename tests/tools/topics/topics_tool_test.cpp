#include "tools/topics/topics_tool.hpp"

#include "core/clock.hpp"
#include "log/control.hpp"
#include "support/fake_topics_admin.hpp"
#include "support/memory_log.hpp"

#include <sstream>

#include <catch2/catch.hpp>

using namespace beckon;
using log::Topic;
using log::TopicSpec;
using std::chrono::hours;
using std::chrono::seconds;
using test::all_of;
using test::FakeAdmin;
using test::layout;

namespace {

struct Tool {
    Tool() {
        log = log::make_memory_log({.partitions = 8, .clock = &clock});
        options.prefix = "test.";
        options.layout = layout();
    }
    core::Result<void> create() { return tools::create_topics(admin, *log, options, out); }

    core::SystemClock clock;
    FakeAdmin admin;
    std::unique_ptr<log::MemoryLog> log;
    tools::TopicsToolOptions options;
    std::ostringstream out;
};

constexpr seconds kWait{5};

}  // namespace

TEST_CASE("topics create makes everything once") {
    Tool tool;
    REQUIRE(tool.create());
    CHECK(tool.admin.existing == all_of(layout()));
    const auto control = log::read_control(*tool.log, kWait);
    REQUIRE(control);
    CHECK(control->partitions == 8);
    CHECK(control->tiers == layout().tiers);
    CHECK(control->log_id.size() == 32);

    const auto created = tool.admin.created;
    REQUIRE(tool.create());
    CHECK(tool.admin.created == created);
    CHECK(*log::read_control(*tool.log, kWait) == *control);
}

TEST_CASE("topics create --dry-run shows the plan and changes nothing") {
    Tool tool;
    tool.options.dry_run = true;
    REQUIRE(tool.create());
    CHECK(tool.admin.existing.empty());
    CHECK(tool.log->records({Topic::kControl, 0}).empty());
    CHECK_THAT(tool.out.str(), Catch::Contains("create  test.notifications: 8 partitions") &&
                                   Catch::Contains("nothing was changed"));
}

TEST_CASE("topics create refuses values that differ from control, and shows both") {
    Tool tool;
    REQUIRE(tool.create());
    tool.admin.existing.erase(Topic::kEvents);
    tool.options.layout.partitions = 16;
    tool.options.layout.tiers.push_back(hours{1});
    const auto refused = tool.create();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().fault == core::Fault::conflict);
    CHECK_THAT(refused.error().message,
               Catch::Contains("partitions: 8 in control, 16 asked for") &&
                   Catch::Contains("tiers: 0s 5s in control, 0s 5s 3600s asked for"));
    CHECK_FALSE(tool.admin.existing.contains(Topic::kEvents));
}

TEST_CASE("without a number topics create makes 12 partitions, or keeps those that are there") {
    SECTION("nothing is there") {
        Tool tool;
        tool.options.layout.partitions = 0;
        REQUIRE(tool.create());
        CHECK(tool.admin.existing.at(Topic::kNotifications).partitions == 12);
        CHECK(tool.admin.existing.at(Topic::kEvents).partitions == 12);
        CHECK(log::read_control(*tool.log, kWait)->partitions == 12);
    }
    SECTION("control says it") {
        Tool tool;
        REQUIRE(tool.create());
        tool.admin.existing.erase(Topic::kEvents);
        tool.options.layout.partitions = 0;
        REQUIRE(tool.create());
        CHECK(tool.admin.existing.at(Topic::kEvents).partitions == 8);
        CHECK(log::read_control(*tool.log, kWait)->partitions == 8);
    }
    SECTION("somebody else has made the topics") {
        Tool tool;
        for (const auto& spec : log::topic_table(tool.options.layout)) {
            tool.admin.existing.emplace(spec.topic, spec);
        }
        tool.options.layout.partitions = 0;
        REQUIRE(tool.create());
        CHECK(log::read_control(*tool.log, kWait)->partitions == 8);
    }
}

TEST_CASE("topics create says which partitions of others' topics are not used") {
    Tool tool;
    for (const auto& spec : log::topic_table(tool.options.layout)) {
        tool.admin.existing.emplace(spec.topic, spec);
    }
    tool.admin.existing.at(Topic::kEvents).partitions = 16;
    REQUIRE(tool.create());
    CHECK_THAT(tool.out.str(), Catch::Contains("note: test.events has 16 partitions, and this log "
                                               "uses 8 of them: the others stay empty"));
}

TEST_CASE("topics create makes another log where topics of stores were deleted") {
    Tool tool;
    REQUIRE(tool.create());
    const auto before = log::read_control(*tool.log, kWait)->log_id;
    tool.admin.existing.erase(Topic::kEvents);
    REQUIRE(tool.create());
    CHECK(log::read_control(*tool.log, kWait)->log_id == before);
    tool.admin.existing.erase(Topic::kNotifications);
    REQUIRE(tool.create());
    CHECK(log::read_control(*tool.log, kWait)->log_id != before);
    CHECK_THAT(tool.out.str(), Catch::Contains("Restart every role"));
}

TEST_CASE("topics create refuses existing topics that break a promise") {
    Tool tool;
    tool.admin.existing.emplace(Topic::kSubscriptions, TopicSpec{Topic::kSubscriptions, 3, 1, {}});
    const auto refused = tool.create();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().fault == core::Fault::conflict);
    CHECK_THAT(refused.error().message, Catch::Contains("partitions is 3, expected 8"));
    CHECK(tool.admin.existing.size() == 1);
}

TEST_CASE("the fingerprint of the key ring is added later and then held to") {
    Tool tool;
    REQUIRE(tool.create());
    tool.options.keyring_fingerprint = "aaaa";
    REQUIRE(tool.create());
    CHECK(log::read_control(*tool.log, kWait)->keyring_fingerprint == "aaaa");
    tool.options.keyring_fingerprint = "bbbb";
    const auto refused = tool.create();
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, Catch::Contains("aaaa") && Catch::Contains("bbbb"));
}

TEST_CASE("topics describe shows control, every topic and all differences") {
    Tool tool;
    REQUIRE(tool.create());
    tool.admin.existing.at(Topic::kReliability).settings["retention.ms"] = "1000";
    std::ostringstream out;
    REQUIRE(tools::describe_topics(tool.admin, *tool.log, tool.options, out));
    CHECK_THAT(out.str(), Catch::Contains("8 partitions, tiers 0s 5s") &&
                              Catch::Contains("test.control: 1 partition, replication factor 3") &&
                              Catch::Contains("retention.ms is 1000, expected 5184000000"));
    tool.admin.existing.erase(Topic::kEvents);
    const auto missing = tools::describe_topics(tool.admin, *tool.log, tool.options, out);
    REQUIRE_FALSE(missing);
    CHECK(missing.error().fault == core::Fault::not_found);
}

TEST_CASE("topics create and describe name a log of one copy, which an option accepts") {
    Tool tool;
    tool.options.layout = layout(1);
    REQUIRE(tool.create());
    CHECK_THAT(tool.out.str(), Catch::Contains("one copy of each partition is for a trial"));
    CHECK(tools::describe_topics(tool.admin, *tool.log, tool.options, tool.out));

    tool.options.layout = layout(3);
    for (const auto& refused :
         {tool.create(), tools::describe_topics(tool.admin, *tool.log, tool.options, tool.out)}) {
        REQUIRE_FALSE(refused);
        CHECK(refused.error().fault == core::Fault::conflict);
        CHECK_THAT(refused.error().message,
                   Catch::Contains("test.notifications: replication.factor is 1, expected 3") &&
                       Catch::Contains("--replication-factor 1"));
    }
}

TEST_CASE("topics create says how to go on where somebody else's program has made an empty topic") {
    Tool tool;
    auto control = test::spec_of(Topic::kControl, layout());
    control.settings["cleanup.policy"] = "delete";
    tool.admin.existing.emplace(Topic::kControl, control);
    const auto refused = tool.create();
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, Catch::Contains("cleanup.policy is delete") &&
                                            Catch::EndsWith("--delete --topic test.control"));
    CHECK(tool.admin.existing.size() == 1);
}

TEST_CASE("topics destroy deletes the topics of tests only") {
    Tool tool;
    REQUIRE(tool.create());
    auto options = tool.options;
    options.prefix = "beckon.";
    const auto refused = tools::destroy_topics(tool.admin, options, tool.out);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().fault == core::Fault::invalid);
    CHECK_THAT(refused.error().message, Catch::Contains("'beckon.'"));
    options = tool.options;
    options.dry_run = true;
    REQUIRE(tools::destroy_topics(tool.admin, options, tool.out));
    CHECK_FALSE(tool.admin.existing.empty());
    REQUIRE(tools::destroy_topics(tool.admin, tool.options, tool.out));
    CHECK(tool.admin.existing.empty());
}
