#include "edge/home/home.hpp"
#include "edge/protocol/frames.hpp"
#include "support/home_world.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using edge::Home;
using log::Topic;
using test::HomeWorld;
using test::Received;
using test::ServingHome;
using Versions = std::vector<std::string>;

namespace {

const log::TopicPartition kNotifications{Topic::kNotifications, 0};
const log::TopicPartition kSubscriptions{Topic::kSubscriptions, 0};

}  // namespace

TEST_CASE("a home goes on from a trusted checkpoint, and reads no folded record again", "[home]") {
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

// Verified to fail when begin_folding() trusts every checkpoint.
TEST_CASE("a checkpoint from before a compaction is not trusted", "[home][hole]") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto version = world.push(uaid, channel, {.ttl_s = 30 * 24 * 3600});
    world.run();
    world.crash();
    // Another home had it acknowledged, and the tombstone is gone by now.
    world.publish(Topic::kNotifications,
                  core::encode(core::NotificationFinished{
                      .uaid = uaid, .key = world.tokens.open_message(version)->key, .source = {}}));
    world.run();
    world.log->compact(kNotifications, 1'000'000, true);
    world.run(24h * 8);
    world.serve("home-2");
    const auto client = world.connect(uaid);
    CHECK(world.take(client) == Received{edge::hello_frame(uaid)});
}

// Two checks guard this: verified to fail when begin_folding() trusts every checkpoint and take()
// does not heed out_of_range.
TEST_CASE("a checkpoint above the log's end is not trusted", "[home][hole]") {
    ServingHome world;
    const auto [lost, lost_channel] = world.subscribed();
    for (int i = 0; i < 20; ++i) world.push(lost, lost_channel);
    world.run();
    world.crash();
    world.replace_log();  // an older copy took its place: shorter, same id
    const core::Uaid kept{core::random_uuid4()};
    world.publish(Topic::kSubscriptions, core::encode(core::ClientRecorded{.uaid = kept}));
    const auto version = world.push(kept, {core::random_uuid4()});
    world.run();
    world.serve("home-2");
    CHECK(world.take_versions(world.connect(kept)) == Versions{version});
    const auto client = world.connect(lost);
    CHECK(world.uaid(client) != lost);  // the log counts
}

// Verified to fail when the store does not compare log ids (here: when both logs have one id).
TEST_CASE("a checkpoint of another log is not trusted", "[home][hole]") {
    ServingHome world;
    const auto [lost, lost_channel] = world.subscribed();
    world.push(lost, lost_channel);
    world.run();
    world.crash();
    world.replace_log();
    world.log_id = "log-2";
    const core::Uaid kept{core::random_uuid4()};
    world.publish(Topic::kSubscriptions, core::encode(core::ClientRecorded{.uaid = kept}));
    // As long as the old one, so that its offsets would fit.
    Versions versions;
    for (int i = 0; i < 30; ++i) {
        versions.push_back(world.push(kept, {core::random_uuid4()}));
        world.publish(Topic::kSubscriptions,
                      core::encode(core::ClientRecorded{.uaid = {core::random_uuid4()}}));
    }
    world.run();
    world.serve("home-2");
    const auto got = world.take_versions(world.connect(kept));
    CHECK(got == Versions(versions.begin(), versions.begin() + 10));
    CHECK(world.uaid(world.connect(lost)) != lost);
}

TEST_CASE("a home starts while the log is away, and serves when it is back", "[home]") {
    HomeWorld world;
    world.log->set_away(true);
    world.serve();
    world.run(20s);
    CHECK(world.home->state() == Home::State::starting);
    world.log->set_away(false);
    world.run(20s);
    CHECK(world.home->state() == Home::State::serving);
}

TEST_CASE("a home whose log is away is stuck and says why, until the log is back", "[home]") {
    ServingHome world;
    CHECK_FALSE(world.home->stuck());
    world.log->set_away(true);
    world.executor.run_for(std::chrono::seconds{20});
    REQUIRE(world.home->stuck());
    CHECK(world.home->stuck()->why.find("the log is away") != std::string::npos);
    world.log->set_away(false);
    world.executor.run_for(std::chrono::seconds{10});
    CHECK_FALSE(world.home->stuck());
}
