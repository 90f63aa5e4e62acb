#include "tools/replay/verify.hpp"

#include "records/events.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/publish.hpp"
#include "support/record_view.hpp"
#include "support/temp_dir.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;

namespace {

constexpr core::Partition kPartition = 0;

std::unique_ptr<inspect::ScratchStore> empty_store() {
    auto opened = inspect::ScratchStore::open(kPartition);
    REQUIRE(opened);
    return std::move(*opened);
}

/// A log of one partition, and the store of its home.
struct World {
    World() {
        const auto record = core::encode(
            core::ClientRecorded{.uaid = uaid, .created = clock.wall(), .last_seen = clock.wall()});
        write(log::Topic::kSubscriptions, record);
        fold(log::Topic::kSubscriptions, record, 0);
    }
    core::Record message(std::string_view body) { return core::encode(accepted(body)); }
    core::NotificationAccepted accepted(std::string_view body) const {
        core::NotificationAccepted event;
        event.uaid = uaid;
        event.key = core::new_message_key(clock.wall());
        event.message_id = "id";
        event.channel = channel;
        event.ttl_s = 3600;
        event.source = "endpoint-1";
        event.body = body;
        return event;
    }
    void write(const core::Record& record) { write(log::Topic::kNotifications, record); }
    void write(log::Topic topic, const core::Record& record) {
        test::publish(*log, {topic, kPartition}, record);
    }
    /// The home folds the record, whether or not the log has it.
    void fold(const core::Record& record, core::Offset offset) {
        fold(log::Topic::kNotifications, record, offset);
    }
    void fold(log::Topic topic, const core::Record& record, core::Offset offset) {
        stored->fold(topic, *test::ReadBack{record, offset, clock.wall()});
        const auto source = topic == log::Topic::kNotifications ? store::Source::notifications
                                                                : store::Source::subscriptions;
        stored->partition().advance(source, offset + 1, std::nullopt);
        REQUIRE(stored->partition().commit());
    }
    tools::Verified verify() {
        const auto found = tools::verify_partition(*log, *stored, kPartition,
                                                   {.now = clock.wall(), .timeout = 5'000ms});
        REQUIRE(found);
        REQUIRE(*found);
        return **found;
    }

    test::ManualClock clock;
    std::unique_ptr<log::MemoryLog> log = log::make_memory_log({.partitions = 1, .clock = &clock});
    std::unique_ptr<inspect::ScratchStore> stored = empty_store();
    const core::Uaid uaid{core::random_uuid4()};
    const core::ChannelId channel{core::random_uuid4()};
};

}  // namespace

TEST_CASE("a store that folded the log agrees with it, however far it has come") {
    World world;
    const auto first = world.message("one");
    world.write(first);
    world.fold(first, 0);
    world.write(world.message("two"));  // not folded yet
    const auto found = world.verify();
    CHECK(found.agree());
    CHECK(found.differences.empty());
}

TEST_CASE("the progress of a verification counts the records of the log up to all") {
    World world;
    const auto first = world.message("the first");
    world.write(first);
    world.fold(first, 0);
    for (int i = 0; i < 8; ++i) world.write(world.message("one of nine"));
    const auto sizes = tools::log_sizes(*world.log, {kPartition}, 5'000ms);
    REQUIRE(sizes);
    CHECK(sizes->at(kPartition) == 10);  // and the client
    std::vector<std::uint64_t> passed;
    const auto found = tools::verify_partition(
        *world.log, *world.stored, kPartition,
        {.now = world.clock.wall(), .timeout = 5'000ms, .progress = [&](std::uint64_t records) {
             passed.push_back(records);
         }});
    REQUIRE(found);
    REQUIRE(*found);
    REQUIRE(passed.size() == 10);
    CHECK(std::is_sorted(passed.begin(), passed.end()));
    CHECK(passed.back() == 10);
}

TEST_CASE("rows that only the store has, or only the log, are named") {
    World world;
    const auto real = world.message("in the log");
    world.write(real);
    world.fold(world.message("of nowhere"), 0);  // in place of the real one
    const auto found = world.verify();
    CHECK_FALSE(found.agree());
    REQUIRE(found.differ == 2);
    CHECK(found.differences[0].kind == "message");
    CHECK(found.differences[0].what == "only the store has it");
    CHECK(found.differences[0].row.starts_with(core::to_hex(world.uaid) + '/'));
    CHECK(found.differences[1].what == "the store lacks it");
    CHECK_THAT(tools::verified_json(found),
               Catch::Contains("\"agree\":false") && Catch::Contains("the store lacks it"));
}

TEST_CASE("a store agrees though its home knows more of a deleted message than the log") {
    World world;
    auto event = world.accepted("body");
    if (GENERATE(false, true)) event.reliability_id = "id-1";  // it is tracked
    const bool folded = GENERATE(false, true);  // the sender's tombstone, by the home
    world.write(core::encode(event));
    world.fold(core::encode(event), 0);
    auto& store = world.stored->partition();
    REQUIRE(store.add_acked_tombstone(world.uaid, event.key, core::Milestone::delivered));
    REQUIRE(store.commit());
    const auto deleted = core::encode(core::NotificationFinished{
        .uaid = world.uaid, .key = event.key, .reason = core::FinishReason::deleted, .source = {}});
    world.write(deleted);
    if (folded) world.fold(deleted, 1);
    CHECK(store.pending_tombstone_count() == (event.reliability_id || !folded ? 1 : 0));
    const auto found = world.verify();
    CHECK(found.agree());
    CHECK(found.differences.empty());
}

TEST_CASE("a copy is read as its store is laid out") {
    const auto rotation =
        GENERATE(store::Rotation::monthly, store::Rotation::daily, store::Rotation::off);
    const test::TempDir directory;
    const core::Uaid uaid{core::random_uuid4()};
    const auto now = core::SystemClock{}.wall();
    {
        store::EdgeStoreOptions options;
        options.directory = directory.path() / "edge";
        options.log_id = "a log";
        options.rotation = rotation;
        const auto stored = store::EdgeStore::open(options);
        REQUIRE(stored);
        const auto partition = (*stored)->open_partition(kPartition);
        partition->put_client({.uaid = uaid, .created = now, .last_seen = now});
        REQUIRE(partition->commit());
    }
    const auto copy = inspect::ScratchStore::copy_of(directory.path() / "edge", "a log");
    REQUIRE(copy);
    (*copy)->use(kPartition);
    CHECK((*copy)->partition().client(uaid).has_value());
}

TEST_CASE("a copy that is not of an edge's store is refused") {
    const test::TempDir directory;
    const auto copy = inspect::ScratchStore::copy_of(directory.path(), "a log");
    REQUIRE_FALSE(copy);
    CHECK_THAT(copy.error().message, Catch::Contains("store "));
}

TEST_CASE("only the first differences are listed, and all are counted") {
    World world;
    const auto real = world.message("in the log");
    world.write(real);
    world.fold(real, 0);
    for (core::Offset offset = 1; offset <= 30; ++offset) {
        world.write(core::encode(core::BarrierRecord{}));
        world.fold(world.message("of nowhere"), offset);
    }
    const auto found = world.verify();
    CHECK(found.differ == 30);
    CHECK(found.differences.size() == tools::Verified::kDifferencesMax);
    CHECK(found.differences[0].what == "only the store has it");
}
