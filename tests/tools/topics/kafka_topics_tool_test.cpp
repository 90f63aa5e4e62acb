// `beckon topics` and the check at start, on a real broker.
#include "log/control.hpp"
#include "support/kafka_topics.hpp"
#include "tools/topics/topics_tool.hpp"

#include <sstream>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using log::Topic;
using std::chrono::seconds;

namespace {

struct Tool {
    Tool() : config(kafka_config(fresh_prefix())), admin(log::open_kafka_admin(config)) {
        log = log::open_kafka_log(config);
        options.prefix = config.prefix;
        options.layout = {
            .partitions = 3, .replication_factor = 1, .tiers = {seconds{0}, seconds{5}}};
    }
    core::Result<void> create() { return tools::create_topics(*admin, *log, options, out); }

    log::KafkaConfig config;
    std::unique_ptr<log::TopicsAdmin> admin;
    std::unique_ptr<log::EventLog> log;
    tools::TopicsToolOptions options;
    std::ostringstream out;
};

}  // namespace

TEST_CASE("topics are created as the table has them, and described so") {
    Tool tool;
    const auto table = log::topic_table(tool.options.layout);
    const auto missing = log::check_topics(*tool.admin, table);
    REQUIRE_FALSE(missing);
    CHECK(missing.error().fault == core::Fault::not_found);

    const auto created = tool.create();
    INFO((created ? "" : created.error().message));
    REQUIRE(created);
    const auto existing = tool.admin->describe();
    REQUIRE(existing);
    CHECK(existing->size() == table.size());
    const auto plan = log::plan(table, *existing);
    CHECK(to_string(plan, "") == std::to_string(table.size()) + " log topics are as expected\n");
    CHECK(log::check_topics(*tool.admin, table));
    std::ostringstream described;
    CHECK(tools::describe_topics(*tool.admin, *tool.log, tool.options, described));
    CHECK_THAT(described.str(),
               Catch::Contains(tool.config.prefix + "notifications: 3 partitions"));
}

TEST_CASE("more replicas than brokers are refused with the broker's reason") {
    Tool tool;
    tool.options.layout.replication_factor = 3;
    const auto refused = tool.create();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().fault == core::Fault::invalid);
    CHECK_THAT(refused.error().message,
               Catch::Contains("replication factor", Catch::CaseSensitive::No));
}

TEST_CASE("destroy removes the topics, and they can be created anew") {
    Tool tool;
    REQUIRE(tool.create());
    const auto before = log::read_control(*tool.log, seconds{10});
    REQUIRE(tools::destroy_topics(*tool.admin, tool.options, tool.out));
    CHECK(tool.admin->describe()->empty());
    // After the topics were destroyed this is another log, which must be opened anew.
    tool.log.reset();
    tool.log = log::open_kafka_log(tool.config);
    const auto again = tool.create();
    INFO((again ? "" : again.error().message));
    REQUIRE(again);
    CHECK(log::read_control(*tool.log, seconds{10})->log_id != before->log_id);
}

TEST_CASE("without a broker the tool says where it looked") {
    auto config = kafka_config("test.");
    config.bootstrap_servers = "127.0.0.1:1";
    const auto described = log::open_kafka_admin(config)->describe();
    REQUIRE_FALSE(described);
    CHECK(described.error().retryable());
    CHECK_THAT(described.error().message, Catch::Contains("127.0.0.1:1"));
}
