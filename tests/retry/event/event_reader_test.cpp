#include "retry/event/event_reader.hpp"

#include "retry/event/event.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;

namespace {

constexpr std::size_t kLarge = 2'000;

EventPlace place_at(core::Offset offset, const std::string& id, std::size_t bytes = kLarge) {
    return {.partition = 0,
            .offset = offset,
            .name = event_name("/shop", id),
            .bytes = bytes,
            .type = "order.created"};
}

EventText text_of(std::size_t bytes) { return std::make_shared<const std::string>(bytes, 'x'); }

/// A log with events e0, e1, … at these offsets, and a reader whose answers are written down.
struct World {
    explicit World(int events) {
        for (int i = 0; i < events; ++i) post("e" + std::to_string(i));
        executor.run_for(1s);
    }
    void post(const std::string& id) {
        const auto event = parse_structured(R"({"specversion":"1.0","id":")" + id +
                                            R"(","source":"/shop","type":"t","data":")" +
                                            std::string(kLarge, 'x') + "\"}");
        texts[std::to_string(texts.size())] = event->json;
        sender->publish({log::Topic::kEvents, 0}, encode(*event), [](const auto&) {});
    }
    void read(const EventPlace& place, const std::string& owner = "o") {
        reader.read(place, owner, [this, place](const auto& event) {
            const auto id = std::to_string(place.offset);
            if (!event) {
                answers.push_back(id + " not read");
            } else if (!*event) {
                answers.push_back(id + " gone");
            } else {
                answers.push_back(id + (**event == texts.at(id) ? " as posted" : " another"));
            }
        });
    }
    using Answers = std::vector<std::string>;

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log =
        log::make_memory_log({.seed = 1, .partitions = 1, .clock = &clock});
    std::unique_ptr<log::Publisher> sender = log->open_publisher(executor);
    EventCache cache;
    EventReader reader{*log, executor, cache};
    std::map<std::string, std::string> texts;  ///< by offset
    Answers answers;
};

}  // namespace

TEST_CASE("an event is read for all deliveries that want it, and is in memory then",
          "[retry][event]") {
    World world{2};
    CHECK_FALSE(world.reader.find(place_at(1, "e1")));
    for (int i = 0; i < 3; ++i) world.read(place_at(1, "e1"));
    CHECK(world.answers.empty());
    world.executor.run_for(1s);
    CHECK(world.answers == World::Answers(3, "1 as posted"));
    CHECK(world.reader.find(place_at(1, "e1")));
}

// Fails where the record at the place is taken for the event whatever it is.
TEST_CASE("an event that retention removed, or in whose place another one stands, is gone",
          "[retry][event]") {
    World world{5};
    world.log->truncate_before({log::Topic::kEvents, 0}, 3);
    world.read(place_at(1, "e1"));
    world.read(place_at(3, "another"));
    world.read(place_at(4, "e4"));
    world.read(place_at(700, "e700"));  // of a topic that was made anew
    world.executor.run_for(30s);
    std::sort(world.answers.begin(), world.answers.end());
    CHECK(world.answers == World::Answers{"1 gone", "3 gone", "4 as posted", "700 gone"});
    CHECK_FALSE(world.reader.find(place_at(3, "another")));
    CHECK_FALSE(world.reader.find(place_at(4, "another")));
}

TEST_CASE("while the log cannot be read everyone is told so, and the next reads go on",
          "[retry][event]") {
    World world{60};
    world.log->set_away(true);
    for (int i = 0; i < 60; ++i) world.read(place_at(i, "e" + std::to_string(i)));
    world.executor.run_for(log::RangeScan::kTimeout + 5s);
    REQUIRE(world.answers.size() == 60);
    for (const auto& answer : world.answers) CHECK(answer.ends_with(" not read"));
    world.log->set_away(false);
    world.answers.clear();
    world.read(place_at(7, "e7"));
    world.executor.run_for(5s);
    CHECK(world.answers == World::Answers{"7 as posted"});
}

TEST_CASE("owners take turns at the reads of a partition", "[retry][event][bounds]") {
    World world{1'000};
    for (int i = 0; i < 900; ++i) world.read(place_at(i, "e" + std::to_string(i)), "greedy");
    world.read(place_at(950, "e950"), "quiet");
    while (world.answers.empty() || world.answers.back() != "950 as posted") {
        REQUIRE(world.executor.step());
    }
    CHECK(world.answers.size() < 200);
    world.executor.run_for(5s);
    CHECK(world.answers.size() == 901);
}

TEST_CASE("a reader that ends answers nobody", "[retry][event]") {
    World world{1};
    {
        EventReader reader{*world.log, world.executor, world.cache};
        reader.read(place_at(0, "e0"), "o", [](const auto&) { FAIL("it has ended"); });
    }
    world.executor.run_for(20s);
}

// Fails where the oldest of all goes.
TEST_CASE("a full cache drops the oldest event of the owner that holds most of it",
          "[retry][event][bounds]") {
    EventCache cache{10'000 + 12 * EventCache::kEntryBytes};
    cache.put(place_at(0, "quiet"), "quiet", text_of(1'000));
    for (int i = 1; i <= 20; ++i) {
        cache.put(place_at(i, std::to_string(i)), "greedy", text_of(1'000));
    }
    CHECK(cache.find(place_at(0, "quiet")));
    CHECK_FALSE(cache.find(place_at(1, "1")));
    CHECK(cache.find(place_at(20, "20")));
    int held = 0;
    for (int i = 1; i <= 20; ++i) held += cache.find(place_at(i, std::to_string(i))) ? 1 : 0;
    CHECK(held >= 9);
    CHECK(held <= 11);
    cache.put(place_at(20, "20"), "greedy", text_of(1'000));  // known already
    CHECK(cache.find(place_at(0, "quiet")));
    CHECK_FALSE(cache.find(place_at(20, "another")));
}
