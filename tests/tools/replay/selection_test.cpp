
#include "records/events.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/publish.hpp"
#include "tools/replay/replay_tool.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using core::Timestamp;

namespace {

constexpr core::Partition kPartitions = 4;
const core::Uaid kClient{*core::parse_hex16("11111111111111111111111111111111")};
const core::Uaid kOther{*core::parse_hex16("22222222222222222222222222222222")};

/// A log to which a record is appended each second.
struct World {
    core::MessageKey put(const core::Uaid& client, const core::ChannelId& to) {
        const auto key = core::new_message_key(clock.wall());
        core::NotificationAccepted event;
        event.uaid = client;
        event.key = key;
        event.message_id = "id";
        event.channel = to;
        event.body = "body";
        write(client, core::encode(event));
        return key;
    }
    void finish(const core::Uaid& client, const core::MessageKey& key) {
        core::NotificationFinished event;
        event.uaid = client;
        event.key = key;
        write(client, core::encode(event));
    }
    template <class Event>
    void subscribe(const Event& event) {
        write(event.uaid, core::encode(event), log::Topic::kSubscriptions);
    }
    void write(const core::Uaid& client, const core::Record& record,
               log::Topic topic = log::Topic::kNotifications) {
        test::publish(*log, {topic, core::partition_of(client, kPartitions)}, record);
        clock.advance(1s);
    }
    tools::ReplayCounts show(const tools::Selection& selection, std::uint64_t limit = 1'000) {
        text.clear();
        const std::atomic<bool> stop = false;
        const auto counts = tools::show(
            *log, {.selection = selection, .partitions = kPartitions, .limit = limit},
            [this](std::string_view lines) {
                text += lines;
                return true;
            },
            stop);
        REQUIRE(counts);
        return *counts;
    }

    test::ManualClock clock;
    const Timestamp start = clock.wall();
    std::unique_ptr<log::MemoryLog> log =
        log::make_memory_log({.partitions = kPartitions, .clock = &clock});
    const core::ChannelId channel{core::random_uuid4()};
    const core::ChannelId another{core::random_uuid4()};
    std::string text;
};

}  // namespace

TEST_CASE("records are chosen by client, channel and message") {
    World world;
    const auto first = world.put(kClient, world.channel);
    const auto second = world.put(kClient, world.another);
    world.put(kOther, world.channel);
    world.finish(kClient, second);
    world.finish(kClient, first);
    CHECK(world.show({}).shown == 5);
    CHECK(world.show({.client = kClient}).shown == 4);
    CHECK(world.show({.message = first}).shown == 2);
    CHECK(world.show({.client = kClient, .channel = world.another}).shown == 2);
    CHECK(world.show({.client = kClient, .channel = world.channel}).shown == 2);
}

TEST_CASE("the records of a channel are its registration, its messages and its end") {
    World world;
    world.subscribe(core::ChannelRecorded{.uaid = kClient, .channel = world.channel});
    world.subscribe(core::ChannelRecorded{.uaid = kClient, .channel = world.another});
    world.put(kClient, world.channel);
    world.subscribe(core::ChannelRemoved{.uaid = kClient, .channel = world.channel});
    const tools::Selection both{.topics = {log::Topic::kSubscriptions, log::Topic::kNotifications},
                                .client = kClient,
                                .channel = world.channel};
    CHECK(world.show(both).shown == 3);
    world.subscribe(core::ClientRemoved{.uaid = kClient});
    CHECK(world.show(both).shown == 4);
}

TEST_CASE("records are chosen by time and offset") {
    World world;
    for (int i = 0; i < 10; ++i) world.put(kClient, world.channel);
    const auto partition = core::partition_of(kClient, kPartitions);
    CHECK(world.show({.since = world.start + 4s, .to = world.start + 7s}).shown == 3);
    CHECK(world.show({.since = world.start + 20s}).shown == 0);
    CHECK(world.show({.partition = partition, .from = 8}).shown == 2);
    CHECK(world.show({.partition = partition, .from = 2, .until = 5}).shown == 3);
    CHECK(world.show({}, 4).shown == 4);
}

TEST_CASE("records are counted by type") {
    World world;
    world.finish(kClient, world.put(kClient, world.channel));
    const auto counts = world.show({});
    CHECK(counts.by_type ==
          std::map<std::string, std::uint64_t>{{"beckon.notification.accepted.v1", 1},
                                               {"beckon.notification.finished.v1", 1}});
    CHECK(counts.first == world.start);
    CHECK(counts.last == world.start + 1s);
    CHECK_THAT(tools::counts_json(counts), Catch::StartsWith(R"({"read":2,"shown":2,)"));
}

TEST_CASE("a record is one line of JSON, whatever its bytes") {
    const std::vector<core::HeaderView> headers{{"ce_type", "a\"b\\c\n\x01\xff"}};
    core::RecordView record;
    record.offset = 7;
    record.time = Timestamp{5ms};
    record.key = "k";
    record.value = "v";
    record.headers = headers;
    std::string line;
    tools::append_json(line, {log::Topic::kNotifications, 3}, record, {.values = true});
    CHECK(line ==
          R"({"topic":"notifications","partition":3,"offset":7,"time":5,"key":"k","bytes":1,)"
          R"("headers":{"ce_type":"a\"b\\c\u000a\u0001\u00ff"},"value":"dg"})"
          "\n");
    record.value.reset();
    line.clear();
    tools::append_json(line, {log::Topic::kNotifications, 3}, record, {.values = true});
    CHECK_THAT(line, Catch::Contains(R"("bytes":null)") && !Catch::Contains("value"));
}
