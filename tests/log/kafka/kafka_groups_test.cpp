#include "log/groups.hpp"
#include "log/kafka/kafka_log.hpp"
#include "support/kafka_topics.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;

namespace {

constexpr log::TopicPartition kWhere{log::Topic::kNotifications, 0};

std::string group(std::size_t number) { return "group-" + std::to_string(number); }

/// A commit gives up after some seconds. On a machine that is busy a coordinator that has just
/// begun may need longer, so what failed is committed again.
void commit(log::EventLog& log, WaitingExecutor& executor, std::size_t groups) {
    std::size_t committed = 0;
    std::string failed;
    const std::function<void(std::size_t)> commit_one = [&](std::size_t number) {
        log.commit(group(number), {{kWhere, 0}}, executor, [&, number](const auto& result) {
            if (result) {
                ++committed;
            } else {
                failed = result.error().message;
                commit_one(number);
            }
        });
    };
    for (std::size_t i = 0; i < groups; ++i) commit_one(i);
    const bool all =
        executor.wait_until([&] { return committed == groups; }, std::chrono::minutes{3});
    CAPTURE(committed, failed);
    REQUIRE(all);
}

}  // namespace

TEST_CASE("beyond the bound the first groups by name are listed, and all once there is space") {
    constexpr std::size_t kTooMany = 5;
    const auto config = kafka_config(fresh_prefix());
    create_topics(config, some_topics({kWhere.topic}, 1));
    WaitingExecutor executor;
    const auto log = log::open_kafka_log(config);
    commit(*log, executor, log::kGroupsMax + kTooMany);

    const auto groups = log::open_kafka_groups(config);
    const auto poll = [&](bool beyond) {
        const auto found = groups->poll({});
        REQUIRE(found);
        std::set<std::string> reported;
        for (const auto& position : found->positions) {
            if (position.group.starts_with(config.prefix)) reported.insert(position.group);
        }
        const auto reports_it = [](const std::string& problem) {
            return problem.find("only the first " + std::to_string(log::kGroupsMax)) !=
                   std::string::npos;
        };
        CHECK(std::any_of(found->problems.begin(), found->problems.end(), reports_it) == beyond);
        return reported;
    };
    const auto some = poll(true);
    CHECK(some.size() > log::kGroupsMax / 2);  // the broker has groups of other tests too
    CHECK(some.size() <= log::kGroupsMax);
    constexpr std::size_t kLeft = log::kGroupsMax / 2;
    for (std::size_t i = kLeft; i < log::kGroupsMax + kTooMany; ++i) {
        delete_group(config, group(i));
    }
    CHECK(poll(false).size() == kLeft);
}
