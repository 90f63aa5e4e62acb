#include "core/base64url.hpp"
#include "log/topics_admin.hpp"
#include "support/home_world.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using log::Topic;
using test::HomeWorld;
using test::ServingHome;

// Clients that stay away are removed, and nothing of them stays in the log.

namespace {

HomeWorld::Options short_lived() {
    HomeWorld::Options options;
    options.client_ttl = 2h;
    return options;
}
/// The time to live, the guard's margin, and a search.
constexpr auto kGone = 5h;

/// Keys of the client whose last record is no tombstone: what compaction would keep.
std::vector<std::string> left_in_log(const HomeWorld& world, const core::Uaid& uaid) {
    std::map<std::string, bool> last;
    for (const auto topic : {Topic::kNotifications, Topic::kSubscriptions}) {
        for (const auto& stored : world.log->records({topic, HomeWorld::kPartition})) {
            if (!stored.record.key.starts_with(core::to_hex(uaid))) continue;
            last[stored.record.key] = stored.record.value.has_value();
        }
    }
    std::vector<std::string> out;
    for (const auto& [key, alive] : last) {
        if (alive) out.push_back(key);
    }
    return out;
}

bool mentions(const core::Record& record, const std::vector<std::string>& names) {
    std::string all = record.key + '\n' + record.value.value_or("");
    for (const auto& header : record.headers) all += '\n' + header.value;
    return std::any_of(names.begin(), names.end(),
                       [&](const auto& name) { return all.find(name) != std::string::npos; });
}

std::vector<log::TopicSpec> all_topics() {
    return log::topic_table(
        {.partitions = 1, .replication_factor = 1, .tiers = log::default_tiers()});
}

/// The log topics with a record that mentions one of the names, wherever it stands in it.
std::set<std::string> topics_that_mention(const HomeWorld& world,
                                          const std::vector<std::string>& names) {
    std::set<std::string> out;
    for (const auto& topic : all_topics()) {
        for (const auto& stored : world.log->records({topic.topic, 0})) {
            if (mentions(stored.record, names)) out.insert(topic.topic.name());
        }
    }
    return out;
}

/// Compacts as a broker does once tombstones have had their time.
void compact_all(HomeWorld& world) {
    for (const auto& topic : all_topics()) {
        if (topic.settings.at("cleanup.policy").find("compact") == std::string::npos) continue;
        world.log->compact({topic.topic, 0}, std::numeric_limits<core::Offset>::max(), true);
    }
}

/// The stamps of all records whose key begins so, in their order.
std::vector<core::WriteStamp> stamps_of(const HomeWorld& world, const std::string& key) {
    std::vector<core::WriteStamp> out;
    for (const auto& stored : world.log->records({Topic::kSubscriptions, HomeWorld::kPartition})) {
        if (!stored.record.key.starts_with(key)) continue;
        auto& stamp = out.emplace_back();
        for (const auto& header : stored.record.headers) {
            if (header.name == core::header::kEpoch) {
                stamp.epoch = static_cast<core::Epoch>(std::stoull(header.value));
            }
            if (header.name == core::header::kSeq) stamp.seq = std::stoull(header.value);
        }
    }
    return out;
}

}  // namespace

TEST_CASE("compaction leaves no record in any topic that mentions a removed client") {
    ServingHome world{short_lived()};
    const auto number = world.connect();
    const auto uaid = world.uaid(number);
    const core::ChannelId channel{core::random_uuid4()};
    const core::ChannelId bound{core::random_uuid4()};
    world.register_channel(number, channel);
    // Its owner is notified of its end, in a log topic that is not compacted.
    world.send_frame(number, R"({"messageType":"register","channelID":")" + core::to_dashed(bound) +
                                 R"(","key":")" + core::base64url(std::string(65, 'k')) + R"("})");
    world.run();
    world.hang_up(number);
    world.push(uaid, channel, {.ttl_s = 1'000'000, .reliability_id = "r1"});
    world.push(uaid, bound, {.ttl_s = 1'000'000, .topic = "t"});
    world.run();
    const std::vector<std::string> names = {core::to_hex(uaid), core::to_dashed(uaid),
                                            core::to_dashed(channel), core::to_dashed(bound)};
    CHECK(topics_that_mention(world, names) ==
          std::set<std::string>{"notifications", "subscriptions"});
    world.run(kGone);
    compact_all(world);
    CHECK(topics_that_mention(world, names).empty());
    CHECK_FALSE(world.log->records({Topic::kEvents, 0}).empty());
    CHECK(world.home->status().removed[edge::Removals::Why::absent] == 1);
    CHECK(world.uaid(world.connect(uaid)) != uaid);
    world.crash();
    world.lose_store();
    world.serve("next");
    CHECK(world.uaid(world.connect(uaid)) != uaid);
}

TEST_CASE("a removed client lives again by an import above its removal") {
    ServingHome world{short_lived()};
    const auto number = world.connect();
    const auto uaid = world.uaid(number);
    const core::ChannelId channel{core::random_uuid4()};
    world.register_channel(number, channel);
    world.hang_up(number);
    world.run(kGone);
    REQUIRE(left_in_log(world, uaid).empty());
    const auto key = core::to_hex(uaid);

    // (above every record of this home, which has written nothing since)
    const auto removals = stamps_of(world, key);
    auto above = *std::max_element(removals.begin(), removals.end());
    ++above.seq;
    core::ClientRecorded client;
    client.uaid = uaid;
    client.created = client.last_seen = world.clock.wall() - 25h;
    client.stamp = above;
    core::ChannelRecorded recorded;
    recorded.uaid = uaid;
    recorded.channel = channel;
    recorded.stamp = above;
    world.publish(Topic::kSubscriptions, core::encode(client));
    world.publish(Topic::kSubscriptions, core::encode(recorded));
    world.run();
    CHECK(world.uaid(world.connect(uaid)) == uaid);
    world.run(1min);
    const auto last = stamps_of(world, key).back();
    CHECK(last > above);  // `last_seen`, which every fold takes
    world.push(uaid, channel, {.ttl_s = 1'000'000});
    world.run();
    CHECK(left_in_log(world, uaid).size() == 3);

    world.crash();
    world.lose_store();
    world.serve("next");
    CHECK(world.uaid(world.connect(uaid)) == uaid);
}

TEST_CASE("a client that is attached, or was lately, is not removed") {
    ServingHome world{short_lived()};
    const auto [away, channel] = world.subscribed();
    const auto number = world.connect();
    world.register_channel(number, core::ChannelId{core::random_uuid4()});
    SECTION("not two hours and a margin") {
        world.run(2h);
        CHECK(world.uaid(world.connect(away)) == away);
    }
    SECTION("attached all the time") {
        world.run(kGone);
        CHECK(left_in_log(world, world.uaid(number)).size() == 2);
        CHECK(left_in_log(world, away).empty());
    }
}

TEST_CASE("a bridged client is never taken for absent") {
    ServingHome world{short_lived()};
    const core::Uaid uaid{core::random_uuid4()};
    core::ClientRecorded client;
    client.uaid = uaid;
    client.router_type = core::RouterType::fcm;
    client.router_data = R"({"token":"t"})";
    client.created = client.last_seen = world.clock.wall();
    world.publish(Topic::kSubscriptions, core::encode(client));
    world.run(kGone);
    CHECK(left_in_log(world, uaid).size() == 1);
}

TEST_CASE("a log that does not answer removes nobody, and later it does") {
    ServingHome world{short_lived()};
    const auto [uaid, channel] = world.subscribed();
    world.run(2h + 30min);
    world.log->set_away(true);
    world.run(1h);
    world.log->set_away(false);
    world.run(2h);
    CHECK(left_in_log(world, uaid).empty());
}

TEST_CASE("a home does not remove a client whose return it has not read yet") {
    ServingHome world{short_lived()};
    const auto [uaid, channel] = world.subscribed();
    world.run(2h + 30min);
    world.log->hold_readers({Topic::kSubscriptions, HomeWorld::kPartition}, true);
    core::ClientRecorded seen;
    seen.uaid = uaid;
    seen.created = seen.last_seen = world.clock.wall();
    seen.stamp = core::WriteStamp{1, 99};
    world.publish(Topic::kSubscriptions, core::encode(seen));
    world.run(2h);  // a search finds it
    CHECK(left_in_log(world, uaid).size() == 2);
    world.log->hold_readers({Topic::kSubscriptions, HomeWorld::kPartition}, false);
    world.run(30min);
    CHECK(world.uaid(world.connect(uaid)) == uaid);
}

TEST_CASE("the channels of a removed client get their tombstones from the next home") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    world.crash();
    const bool store_lost = GENERATE(false, true);
    CAPTURE(store_lost);
    if (store_lost) world.lose_store();
    // A home wrote this and ended before anything else.
    world.publish(Topic::kSubscriptions, core::encode(core::ClientRemoved{
                                             .uaid = uaid, .stamp = core::WriteStamp{1, 99}}));
    world.serve("next");
    world.run(30s);
    CHECK(left_in_log(world, uaid).empty());
    CHECK(world.uaid(world.connect(uaid)) != uaid);
}

TEST_CASE("a crash at any step of a removal leaves a client that is there or gone") {
    const auto steps = GENERATE(range(0, 40, 3));
    CAPTURE(steps);
    HomeWorld::Options options = short_lived();
    options.append_delay_max = 20ms;
    options.read_delay_max = 20ms;
    ServingHome world{options};
    const auto [uaid, channel] = world.subscribed();
    world.push(uaid, channel, {.ttl_s = 1'000'000});
    world.run(3h);
    // Within this hour the search finds it.
    while (world.records_in(Topic::kSubscriptions, core::to_hex(uaid)) < 3) world.run(100ms);
    for (int i = 0; i < steps; ++i) world.executor.step();
    world.crash();
    world.serve("next");
    world.run(kGone);
    CHECK(left_in_log(world, uaid).size() <= 1);  // its message, until its TTL is over
    CHECK(world.uaid(world.connect(uaid)) != uaid);
}

TEST_CASE("a client that an operator removes ends at once, with all that the log has of it") {
    HomeWorld world;
    world.serve();
    const auto number = world.connect();
    const auto uaid = world.uaid(number);
    const core::ChannelId channel{core::random_uuid4()};
    world.register_channel(number, channel);
    world.push(uaid, channel, {.ttl_s = 1'000'000});
    world.push(uaid, channel, {.ttl_s = 1'000'000, .topic = "t"});
    world.run();
    CHECK(left_in_log(world, uaid).size() == 4);
    std::optional<edge::ClientRemoval> outcome;
    world.home->remove_client(uaid, [&](const auto& removal) { outcome = removal; });
    SECTION("attached") {
        world.run();
        REQUIRE(outcome);
        CHECK((outcome->served && outcome->removed));
        CHECK(world.home->status().sessions == 0);
    }
    SECTION("away") {
        world.hang_up(number);
        world.run();
        CHECK((outcome && outcome->removed));
    }
    CHECK(left_in_log(world, uaid).empty());
    CHECK(world.home->status().removed[edge::Removals::Why::erased] == 1);
    CHECK(world.uaid(world.connect(uaid)) != uaid);
}

TEST_CASE("a removal that was cut short is completed by the next one") {
    HomeWorld world;
    world.serve();
    const auto [uaid, channel] = world.subscribed();
    world.push(uaid, channel, {.ttl_s = 1'000'000});
    world.run();
    auto above = stamps_of(world, core::to_hex(uaid)).back();
    ++above.seq;
    // A home that ended behind the tombstone of its client.
    world.publish(Topic::kSubscriptions,
                  core::encode(core::ClientRemoved{.uaid = uaid, .stamp = above}));
    world.run(1min);
    CHECK(left_in_log(world, uaid).size() == 1);  // the message
    bool removed = false;
    world.home->remove_client(uaid, [&](const auto& outcome) { removed = outcome.removed; });
    world.run();
    CHECK(removed);
    CHECK(left_in_log(world, uaid).empty());
}

TEST_CASE("a home answers each removal once, also when it ends or does not serve") {
    HomeWorld world;
    world.start_home();
    std::vector<edge::ClientRemoval> outcomes;
    const auto remove = [&](const core::Uaid& uaid) {
        world.home->remove_client(uaid, [&](const auto& removal) { outcomes.push_back(removal); });
    };
    remove(core::Uaid{core::random_uuid4()});
    REQUIRE(outcomes.size() == 1);
    CHECK_FALSE(outcomes[0].served);
    world.home->placed_here(world.floor());
    world.run();
    const auto [uaid, channel] = world.subscribed();
    remove(uaid);
    remove(uaid);  // while it is under way
    REQUIRE(outcomes.size() == 2);
    CHECK((outcomes[1].served && !outcomes[1].removed));
    world.run();
    REQUIRE(outcomes.size() == 3);
    CHECK(outcomes[2].removed);
}
