#include "log/checked_publisher.hpp"

#include "records/events.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using log::Topic;

namespace {

struct World {
    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log =
        log::make_memory_log({.seed = 1, .partitions = 1, .clock = &clock});
    log::CheckedPublisher publisher{log->open_publisher(executor), executor,
                                    &log::check_core_record};

    /// The answer to a publish; "published" if the log has the record.
    std::string publish(Topic topic, core::Record record) {
        std::string answer = "none";
        publisher.publish({topic, 0}, std::move(record),
                          [&](const auto& at) { answer = at ? "published" : at.error().message; });
        CHECK(answer == "none");  // never from within
        executor.run_for(1s);
        return answer;
    }
};

}  // namespace

TEST_CASE("a record that could not be read again is refused before it is written") {
    World world;
    core::ClientRecorded client{.uaid = core::Uaid{}, .router_type = core::RouterType::fcm};
    const std::string deep = "{\"aps\":" + std::string(40, '[') + std::string(40, ']') + "}";
    client.router_data = deep;
    CHECK(world.publish(Topic::kSubscriptions, core::encode(client)) ==
          "its record could not be read again: value is nested too deep");
    CHECK(world.publish(Topic::kNotifications, {.key = "x", .value = "", .headers = {}}) ==
          "its record could not be read again: key is not <uaid>/<message key>");
    CHECK(world.log->records({Topic::kSubscriptions, 0}).empty());
    CHECK(world.log->records({Topic::kNotifications, 0}).empty());
    CHECK(world.publisher.unanswered() == 0);
}

TEST_CASE("a record that can be read again is written, and so is one of an unchecked topic") {
    World world;
    const core::ClientRecorded client{.uaid = core::Uaid{},
                                      .router_type = core::RouterType::fcm,
                                      .router_data = R"({"token":"{{{{[[[["})"};
    CHECK(world.publish(Topic::kSubscriptions, core::encode(client)) == "published");
    CHECK(world.publish(Topic::kEvents, {.key = "x", .value = "?", .headers = {}}) == "published");
}
