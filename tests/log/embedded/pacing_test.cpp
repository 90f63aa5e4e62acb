// The writer of the embedded log and the readers that pace it.
#include "log/contract_support.hpp"
#include "log/embedded/embedded_under_test.hpp"
#include "log/embedded/partitions.hpp"
#include "log/embedded/writer.hpp"

#include <chrono>
#include <memory>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using log::Topic;
using log::TopicPartition;
using log::embedded::Chunk;
using log::embedded::PacingReaders;
using log::embedded::Partition;
using log::embedded::Waiter;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr TopicPartition kWhere{Topic::kNotifications, 0};

/// A partition with a reader, and the batches that a writer would write there.
struct PacedPartition {
    PacedPartition() {
        partition.add_reader(waiter);
        partition.set_pacing(*waiter, true);
        read();
    }

    void write() {
        auto chunk = std::make_shared<Chunk>();
        chunk->add(end, {}, "body");
        pacing.next_batch();
        partition.show(std::move(chunk), ++end);
    }
    /// The reader comes to the end.
    void read() { REQUIRE(partition.next(end, *waiter).drained); }

    WaitingExecutor executor;
    core::Lifetime lifetime{executor};
    PacingReaders pacing;
    Partition partition{kWhere, pacing};
    std::shared_ptr<Waiter> waiter =
        std::make_shared<Waiter>(Waiter{.reader = lifetime.remote(), .ready = [] {}});
    core::Offset end = 0;
};

}  // namespace

TEST_CASE("the writer may be one batch ahead of the readers that pace it") {
    PacedPartition paced;
    CHECK(paced.pacing.have_room());
    paced.write();
    CHECK(paced.pacing.have_room());
    paced.write();
    CHECK_FALSE(paced.pacing.have_room());
    paced.read();
    CHECK(paced.pacing.have_room());
    paced.write();
    CHECK(paced.pacing.have_room());
}

TEST_CASE("a reader that does not pace, is gone or pauses holds nothing up") {
    PacedPartition paced;
    paced.write();
    paced.write();
    REQUIRE_FALSE(paced.pacing.have_room());
    SECTION("does not pace") { paced.partition.set_pacing(*paced.waiter, false); }
    SECTION("is gone") { paced.partition.remove_reader(paced.waiter); }
    CHECK(paced.pacing.have_room());
    for (int i = 0; i < 4; ++i) paced.write();
    CHECK(paced.pacing.have_room());
}

TEST_CASE("who waits for the readers is called when the last of them has read") {
    PacedPartition paced;
    int calls = 0;
    paced.pacing.on_room([&] { ++calls; });
    paced.write();
    paced.read();
    CHECK(calls == 0);  // nobody waits
    paced.write();
    paced.write();
    paced.pacing.await(true);
    paced.read();
    CHECK(calls == 1);
}

TEST_CASE("puts wait for a reader that does not take, for a tenth of a second each time") {
    EmbeddedUnderTest log{[](log::EmbeddedConfig& c) { c.publish_timeout = seconds{60}; }};
    const auto publisher = log.log().open_publisher(log.executor());
    HandReader reader{log, kWhere, 0};
    reader.reader->applies_backpressure();
    REQUIRE(reader.take_until(1, [&] { return reader.drained; }));
    int answered = 0;
    const auto put_and_wait = [&] {
        publisher->publish(kWhere, record("k"), [&](const auto& result) {
            REQUIRE(result);
            ++answered;
        });
        const auto wanted = answered + 1;
        REQUIRE(log.wait_until([&] { return answered == wanted; }));
    };
    const auto time_of = [](const auto& work) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        return std::chrono::steady_clock::now() - begin;
    };
    const auto stuck = time_of([&] {
        for (int i = 0; i < 6; ++i) put_and_wait();  // the first two need not wait
    });
    CHECK(stuck >= 3 * log::embedded::Writer::kWaitMax);
    CHECK(answered == 6);
}

TEST_CASE("puts that wait for readers are written when the log is closed") {
    EmbeddedUnderTest log{[](log::EmbeddedConfig& c) { c.publish_timeout = seconds{60}; }};
    constexpr std::size_t kPuts = 2'000;
    {
        HandReader reader{log, kWhere, 0};
        reader.reader->applies_backpressure();
        REQUIRE(reader.take_until(1, [&] { return reader.drained; }));
        const auto publisher = log.log().open_publisher(log.executor());
        std::size_t answered = 0;
        for (std::size_t i = 0; i < kPuts; ++i) {
            publisher->publish(kWhere, record(std::to_string(i)), [&](const auto&) { ++answered; });
            if (i < 4) REQUIRE(log.wait_until([&] { return answered > i; }));
        }
    }
    log.close();
    log.open();
    CHECK(read_all(log, kWhere).size() == kPuts);
}
