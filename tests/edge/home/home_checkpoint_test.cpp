#include "edge/home/home.hpp"
#include "support/home_world.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using log::Topic;
using test::ServingHome;
using Versions = std::vector<std::string>;

namespace {

const log::TopicPartition kNotifications{Topic::kNotifications, 0};
const log::TopicPartition kSubscriptions{Topic::kSubscriptions, 0};

}  // namespace

TEST_CASE("a home goes on from a trusted checkpoint, and reads no folded record again") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto version = world.push(uaid, channel);
    world.run();
    const auto next = world.home->status().notifications_next;
    world.crash();
    world.log->truncate_before(kNotifications, next);  // proves it: the log has no more of that
    world.log->truncate_before(kSubscriptions, next);
    world.serve("home-2");
    CHECK(world.take_versions(world.connect(uaid)) == Versions{version});
}
