#include "edge/broadcast/broadcast_fold.hpp"

#include "support/memory_log.hpp"
#include "support/record_view.hpp"
#include "support/test_executor.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using edge::BroadcastSet;

namespace {

const log::TopicPartition kWhere{log::Topic::kBroadcasts, 0};

/// A log in memory, and edges that fold its broadcasts.
struct World {
    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log = log::make_memory_log({.clock = &clock});
    std::vector<edge::BroadcastsPtr> reported;
    std::unique_ptr<edge::BroadcastFold> fold;

    World() { start(); }

    void start() {
        fold = std::make_unique<edge::BroadcastFold>(
            core::NodeId::random(),
            edge::BroadcastFold::Context{
                .log = *log, .executor = executor, .clock = clock, .changed = [this](auto now) {
                    reported.push_back(now);
                }});
        executor.run_for(5s);
    }
    bool set(const BroadcastSet& broadcast) {
        bool good = false;
        fold->set(broadcast, [&](const auto& done) { good = done.has_value(); });
        executor.run_for(5s);
        return good;
    }
    /// Without read barriers.
    std::size_t written() const {
        std::size_t count = 0;
        for (const auto& stored : log->records(kWhere)) count += stored.record.key.front() != '!';
        return count;
    }
    std::map<std::string, std::string, std::less<>> now() const {
        return reported.back()->versions;
    }
};

using Versions = std::map<std::string, std::string, std::less<>>;

}  // namespace

TEST_CASE("an empty log has no broadcasts, and that is known") {
    World world;
    REQUIRE(world.reported.size() == 1);
    CHECK(world.reported[0]->complete);
    CHECK(world.now().empty());
}

TEST_CASE("a version that is set is sent once it is read back") {
    World world;
    CHECK(world.set({.id = "a", .version = "1"}));
    CHECK(world.now() == Versions{{"a", "1"}});
    CHECK(world.set({.id = "a", .version = "2"}));
    CHECK(world.now() == Versions{{"a", "2"}});
    CHECK(world.set({.id = "a", .version = std::nullopt}));
    CHECK(world.now().empty());
}

TEST_CASE("the same version again writes nothing and notifies nobody") {
    World world;
    CHECK(world.set({.id = "a", .version = "1"}));
    const auto written = world.written();
    const auto reported = world.reported.size();
    CHECK(world.set({.id = "a", .version = "1"}));
    CHECK(world.set({.id = "b", .version = std::nullopt}));
    CHECK(world.written() == written);
    CHECK(world.reported.size() == reported);
}

TEST_CASE("a restart reads all of them again, compacted or not") {
    World world;
    world.set({.id = "a", .version = "1"});
    world.set({.id = "b", .version = "1"});
    world.set({.id = "a", .version = "2"});
    world.set({.id = "b", .version = std::nullopt});
    world.fold.reset();
    if (GENERATE(false, true)) world.log->compact(kWhere, 1'000, true);
    world.reported.clear();
    world.start();
    REQUIRE(!world.reported.empty());
    CHECK(world.reported.front()->complete);  // no front is notified of a part
    CHECK(world.now() == Versions{{"a", "2"}});
}

TEST_CASE("a log that refuses is no change") {
    World world;
    world.log->fail_next_publishes(1);
    CHECK(!world.set({.id = "a", .version = "1"}));
    CHECK(world.now().empty());
    CHECK(world.set({.id = "a", .version = "1"}));
    CHECK(world.now() == Versions{{"a", "1"}});
}

TEST_CASE("more broadcasts than an installation may have are left out") {
    World world;
    const auto publisher = world.log->open_publisher(world.executor);
    for (std::size_t i = 0; i < edge::kBroadcastsMax + 5; ++i) {
        publisher->publish(kWhere, encode(BroadcastSet{"id" + std::to_string(i), "1"}),
                           [](const auto&) {});
    }
    world.executor.run_for(5s);
    CHECK(world.now().size() == edge::kBroadcastsMax);
    CHECK(!world.now().contains("id" + std::to_string(edge::kBroadcastsMax)));
    world.set({.id = "id0", .version = "2"});
    CHECK(world.now().at("id0") == "2");
    world.set({.id = "id0", .version = std::nullopt});
    world.set({.id = "later", .version = "1"});
    CHECK(world.now().size() == edge::kBroadcastsMax);
    CHECK(world.now().contains("later"));
}

TEST_CASE("a broadcast's record can be read back") {
    const auto broadcast =
        GENERATE(BroadcastSet{"remote-settings/monitor_changes", "\"1619040505000\""},
                 BroadcastSet{"gone", std::nullopt});
    const auto record = encode(broadcast);
    CHECK(edge::decode_broadcast(*test::ReadBack{record}) == broadcast);
}

TEST_CASE("a record that is no broadcast is not decoded") {
    auto other = encode(BroadcastSet{"a", "1"});
    SECTION("a read barrier") { other.key = "!barrier/1"; }
    SECTION("another type") { other.headers[1].value = "beckon.something.v9"; }
    SECTION("no type") { other.headers.clear(); }
    SECTION("a version that is not allowed") { other.value = "a\nb"; }
    SECTION("an id that is not allowed") { other.key = std::string(129, 'a'); }
    CHECK(edge::decode_broadcast(*test::ReadBack{other}) == std::nullopt);
}

TEST_CASE("ids and versions have bounds, which an error names") {
    CHECK(check(BroadcastSet{std::string(128, 'a'), std::string(256, 'v')}));
    for (const auto& id : {std::string{}, std::string(129, 'a'), std::string{"!a"},
                           std::string{" a"}, std::string{"\xc3\xa4"}, std::string{"a\n"}}) {
        const auto checked = check(BroadcastSet{id, "1"});
        REQUIRE(!checked);
        CHECK(checked.error().message.find("1 to 128 printable ASCII") != std::string::npos);
    }
    for (const auto& version : {std::string{}, std::string(257, 'v'), std::string{"a\t"}}) {
        const auto checked = check(BroadcastSet{"a", version});
        REQUIRE(!checked);
        CHECK(checked.error().message.find("1 to 256 printable ASCII") != std::string::npos);
    }
}
