#include "log/contract_support.hpp"
#include "log/embedded/embedded_under_test.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using log::EmbeddedConfig;
using log::Sync;
using log::Topic;
using log::TopicPartition;

namespace {

namespace fs = std::filesystem;

const TopicPartition kWhere{Topic::kNotifications, 1};

EmbeddedUnderTest::Change with(Sync sync) {
    return [sync](EmbeddedConfig& c) { c.sync = sync; };
}

std::uintmax_t write_ahead_bytes(const fs::path& directory) {
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(directory)) {
        if (entry.path().extension() == ".log") bytes += entry.file_size();
    }
    return bytes;
}

bool grows_to(const fs::path& directory, std::uintmax_t bytes) {
    for (int i = 0; i < 1'000; ++i) {
        if (write_ahead_bytes(directory) >= bytes) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    return false;
}

/// The files as they stand at this moment, opened as the next process would after a kill.
struct AfterKill : EmbeddedUnderTest {
    explicit AfterKill(const EmbeddedUnderTest& original)
        : EmbeddedUnderTest([&](EmbeddedConfig& c) {
              c.sync = original.config.sync;
              copy_as_killed(original.config.directory, c.directory);
          }) {}
};

std::size_t records_in(EmbeddedUnderTest& log) {
    Collector reader{log, kWhere, 0};
    REQUIRE(log.wait_until([&] { return reader.drained; }));
    return reader.seen.size();
}

}  // namespace

TEST_CASE(
    "a write-ahead file whose writes are synced is filled ahead, and ends where its records end",
    "[embedded]") {
    EmbeddedUnderTest log{with(Sync::always)};
    // The pages that a record begins and ends in differ, and some records take several.
    for (std::size_t size : {1U, 700U, 3'900U, 4'096U, 40'000U, 5U}) {
        append(log, kWhere, {{"key", std::string(size, 'x'), {}}});
    }
    REQUIRE(grows_to(log.config.directory, 4U << 20));
    SECTION("a kill loses nothing, and the next process goes on") {
        AfterKill next{log};
        CHECK(records_in(next) == 6);
        append(next, kWhere, {record("after")});
        CHECK(records_in(next) == 7);
        AfterKill again{static_cast<const EmbeddedUnderTest&>(next)};
        CHECK(records_in(again) == 7);
    }
    SECTION("a stop leaves no zeros behind") {
        log.close();
        CHECK(write_ahead_bytes(log.config.directory) < (1U << 20));
        log.open();
        CHECK(records_in(log) == 6);
    }
}

TEST_CASE("writes that come sooner than the file is filled are written all the same",
          "[embedded]") {
    EmbeddedUnderTest log{with(Sync::always)};
    for (int i = 0; i < 24; ++i) {
        append(log, kWhere, {{"key", std::string(900'000, 'x'), {}}});
    }
    AfterKill next{log};
    CHECK(records_in(next) == 24);
}

TEST_CASE("a synced write that fails is refused, and nothing that was answered goes with it",
          "[embedded]") {
    EmbeddedUnderTest log{with(Sync::always)};
    append(log, kWhere, {record("one"), record("two")});
    REQUIRE(grows_to(log.config.directory, 4U << 20));
    const auto publisher = log.log().open_publisher(log.executor());
    std::optional<core::Fault> fault;
    {
        const FileSizeLimit nothing_is_written;
        publisher->publish(kWhere, record("refused"), [&](const auto& answer) {
            if (!answer) fault = answer.error().fault;
        });
        REQUIRE(log.wait_until([&] { return fault.has_value(); }));
    }
    publish_until_taken(log, *publisher, kWhere, record("three"));
    CHECK(records_in(log) == 3);
    AfterKill next{log};
    CHECK(records_in(next) == 3);
}

TEST_CASE("a copy of a log whose file is filled ahead holds what was answered, and no zeros",
          "[embedded]") {
    EmbeddedUnderTest log{with(Sync::always)};
    append(log, kWhere, {record("one"), record("two")});
    REQUIRE(grows_to(log.config.directory, 4U << 20));
    const auto copy = log.directory / "copy";
    EmbeddedUnderTest::must(log.embedded->copy_to(copy));
    CHECK(write_ahead_bytes(copy) < (64U << 10));
    append(log, kWhere, {record("three")});
    EmbeddedUnderTest copied{[&](EmbeddedConfig& c) {
        c.sync = Sync::always;
        c.directory = copy;
    }};
    CHECK(records_in(copied) == 2);
}

TEST_CASE("files of a log that does not sync each write are RocksDB's own", "[embedded]") {
    EmbeddedUnderTest log{with(Sync::never)};
    append(log, kWhere, {record("key")});
    CHECK(write_ahead_bytes(log.config.directory) < (1U << 20));
}
