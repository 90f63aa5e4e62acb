#include "edge/home/check_bounds.hpp"
#include "edge/protocol/frames.hpp"
#include "support/home_world.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using edge::PendingLimit;
using test::HomeWorld;
using test::ServingHome;

// Limits of one client: waiting messages, and channels.

namespace {

constexpr std::size_t kMax = 20;

HomeWorld::Options limited(const std::string& policy = "drop-oldest") {
    HomeWorld::Options options;
    options.delivery_window = 100;
    options.max_pending = kMax;
    options.max_pending_policy = policy;
    return options;
}

/// A tenth more may wait until it is noticed.
void check_held(HomeWorld& world, const std::vector<std::string>& pushed, std::size_t waiting) {
    CHECK(waiting <= kMax + kMax / 10);
    CHECK(waiting >= kMax);
    CHECK(world.unfinished_in_log() == waiting);
    CHECK(world.reasons() == std::vector<std::string>(pushed.size() - waiting, "dropped"));
}

}  // namespace

TEST_CASE("of a client that has too many messages the oldest go") {
    ServingHome world{limited()};
    const auto [uaid, channel] = world.subscribed();
    std::vector<std::string> pushed;
    for (int i = 0; i < 100; ++i) {
        pushed.push_back(world.push(uaid, channel));
        world.run(20ms);
    }
    world.run(5s);
    const auto got = world.take_versions(world.connect(uaid));
    check_held(world, pushed, got.size());
    CHECK(got == std::vector(pushed.end() - static_cast<std::ptrdiff_t>(got.size()), pushed.end()));
}

TEST_CASE("many messages that come at once are dropped in pieces") {
    constexpr std::size_t kMany = PendingLimit::kBeyondMax + 2 * PendingLimit::kBudget;
    ServingHome world{limited()};
    const auto [uaid, channel] = world.subscribed();
    std::vector<std::string> pushed;
    for (std::size_t i = 0; i < kMany; ++i) pushed.push_back(world.push(uaid, channel));
    world.run(30s);
    const auto got = world.take_versions(world.connect(uaid));
    check_held(world, pushed, got.size());
    CHECK(got.back() == pushed.back());
    test::check_sessions(world);
}

TEST_CASE("Topic messages count, and go by age as all others") {
    ServingHome world{limited()};
    const auto [uaid, channel] = world.subscribed();
    const auto oldest = world.push(uaid, channel, {.topic = "old"});
    for (std::size_t i = 0; i < 2 * kMax; ++i) {
        world.push(uaid, channel);
        world.run(20ms);
    }
    const auto newest = world.push(uaid, channel, {.topic = "new"});
    world.run(5s);
    const auto got = world.take_versions(world.connect(uaid));
    CHECK(got.size() <= kMax + kMax / 10);
    CHECK(got.front() == newest);  // Topic messages come first
    CHECK(std::find(got.begin(), got.end(), oldest) == got.end());
}

TEST_CASE("a client that takes its messages loses none") {
    ServingHome world{limited()};
    const auto number = world.connect();
    const core::ChannelId channel{core::random_uuid4()};
    world.register_channel(number, channel);
    world.take(number);
    for (int i = 0; i < 100; ++i) {
        const auto version = world.push(world.uaid(number), channel);
        world.run();
        REQUIRE(world.take_versions(number) == std::vector{version});
        world.ack(number, version);
    }
    world.run(5s);
    CHECK(world.reasons() == std::vector<std::string>(100, "acked"));
}

TEST_CASE("a crash in the middle of dropping drops the rest afterwards") {
    const auto steps = GENERATE(range(0, 12));
    CAPTURE(steps);
    ServingHome world{limited()};
    const auto [uaid, channel] = world.subscribed();
    std::vector<std::string> pushed;
    for (int i = 0; i < 60; ++i) pushed.push_back(world.push(uaid, channel));
    for (int i = 0; i < steps; ++i) world.executor.step();
    world.crash();
    if (GENERATE(false, true)) world.lose_store();
    world.serve("next");
    // The limit is checked when messages come.
    for (int i = 0; i < 10; ++i) pushed.push_back(world.push(uaid, channel));
    world.run(10s);
    const auto got = world.take_versions(world.connect(uaid));
    CHECK(got.size() <= kMax + kMax / 10);
    CHECK(got.back() == pushed.back());
    CHECK(world.unfinished_in_log() == got.size());
}

TEST_CASE("with the policy reset the client is removed and gets a new UAID") {
    ServingHome world{limited("reset")};
    const auto [uaid, channel] = world.subscribed();
    for (std::size_t i = 0; i < 2 * kMax; ++i) world.push(uaid, channel);
    world.run(5s);
    CHECK(world.unfinished_in_log() == 0);
    CHECK(world.home->status().removed[edge::Removals::Why::absent] == 0);
    CHECK(world.home->status().removed[edge::Removals::Why::max_pending] == 1);
    CHECK(world.uaid(world.connect(uaid)) != uaid);
}

TEST_CASE("a client that is reset while it is attached is closed with 1000") {
    ServingHome world{limited("reset")};
    const auto number = world.connect();
    const core::ChannelId channel{core::random_uuid4()};
    world.register_channel(number, channel);
    for (std::size_t i = 0; i < 2 * kMax; ++i) world.push(world.uaid(number), channel);
    world.run(5s);
    CHECK(world.take(number).back() == "closed 1000 Reset");
}

TEST_CASE("a register beyond the limit of channels gets 409") {
    HomeWorld::Options options;
    options.channels_per_client = 2;
    ServingHome world{options};
    const auto number = world.connect();
    const core::ChannelId one{core::random_uuid4()};
    const core::ChannelId two{core::random_uuid4()};
    const core::ChannelId three{core::random_uuid4()};
    const auto status = [&](const core::ChannelId& channel) {
        world.take(number);
        world.register_channel(number, channel);
        const auto frame = world.take(number).at(0);
        return frame.substr(frame.find(R"("status":)") + 9, 3);
    };
    CHECK(status(one) == "200");
    CHECK(status(two) == "200");
    CHECK(status(three) == "409");
    CHECK(status(one) == "200");  // it is there already
    world.unregister_channel(number, one);
    CHECK(status(three) == "200");
    world.take(number);
    world.register_channel(number, one);
    CHECK(world.take(number) ==
          test::Received{edge::register_frame(one, 409, "Too many channels")});
}

TEST_CASE("of the channels that a client has removed within a day some count") {
    HomeWorld::Options options;
    options.channels_per_client = 3;
    ServingHome world{options};
    const auto number = world.connect();
    const auto is_taken = [&](const core::ChannelId& channel) {
        world.take(number);
        world.register_channel(number, channel);
        return world.take(number).at(0).find(R"("status":200)") != std::string::npos;
    };
    const auto remove = [&](const core::ChannelId& channel) {
        world.unregister_channel(number, channel);
    };
    int taken = 0;
    for (int i = 0; i < 20; ++i) {
        const core::ChannelId channel{core::random_uuid4()};
        world.run(2s);  // long enough that its channels are counted again
        if (!is_taken(channel)) continue;
        ++taken;
        remove(channel);
    }
    CHECK(taken == 6);
    const core::ChannelId same{core::random_uuid4()};
    CHECK_FALSE(is_taken(same));
    // One that comes back takes no row of its own.
    HomeWorld again{options};
    again.serve();
    const auto other = again.connect();
    for (int i = 0; i < 20; ++i) {
        again.take(other);
        again.register_channel(other, same);
        CHECK(again.take(other).at(0).find(R"("status":200)") != std::string::npos);
        again.send_frame(other, R"({"messageType":"unregister","channelID":")" +
                                    core::to_dashed(same) + R"("})");
        again.run();
    }
}

// Rows of removed channels stay for a day, and whoever removes the client reads them all.
TEST_CASE("channels that a client does not have leave no rows, however it asks for their end") {
    HomeWorld::Options options;
    options.channels_per_client = 3;
    ServingHome world{options};
    const auto number = world.connect();
    const core::ChannelId own{core::random_uuid4()};
    const auto send = [&](const char* type, const core::ChannelId& channel) {
        world.send_frame(number, R"({"messageType":")" + std::string{type} + R"(","channelID":")" +
                                     core::to_dashed(channel) + R"("})");
    };
    for (int round = 0; round < 5; ++round) {
        world.take(number);
        send("register", own);  // under way while the others come
        for (int i = 0; i < 10; ++i) send("unregister", core::ChannelId{core::random_uuid4()});
        world.run();
        const auto answers = world.take(number);
        CHECK(answers.size() == 11);
        for (const auto& answer : answers) {
            CHECK(answer.find(R"("status":200)") != std::string::npos);
        }
    }
    world.run(2s);
    world.register_channel(number, core::ChannelId{core::random_uuid4()});
    CHECK(world.take(number).at(0).find(R"("status":200)") != std::string::npos);
    // One whose register is under way is ended by an unregister behind it.
    const core::ChannelId brief{core::random_uuid4()};
    send("register", brief);
    send("unregister", brief);
    world.run();
    CHECK(world.take(number).size() == 2);
    world.run(2s);
    world.register_channel(number, core::ChannelId{core::random_uuid4()});  // the third that lives
    CHECK(world.take(number).at(0).find(R"("status":200)") != std::string::npos);
}
