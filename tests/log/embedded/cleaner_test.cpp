#include "log/contract_support.hpp"
#include "log/embedded/embedded_under_test.hpp"
#include "support/shared_clock.hpp"

#include <filesystem>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using log::EmbeddedConfig;
using log::Ends;
using log::Topic;
using log::TopicPartition;
using std::chrono::hours;
using std::chrono::minutes;

namespace {

const TopicPartition kNotifications{Topic::kNotifications, 1};
const TopicPartition kTier{Topic::retry(3), 0};
using Keys = std::vector<std::string>;

/// Made before the log and gone after it.
struct WithClock {
    SharedClock shared_clock;
};

/// A history window of an hour, tombstones kept for a day; nothing stays in memory, so that readers
/// see what is on disk.
struct CleanedLog : WithClock, EmbeddedUnderTest {
    CleanedLog()
        : EmbeddedUnderTest([this](EmbeddedConfig& c) {
              c.clock = &shared_clock;
              c.history_window = hours{1};
              c.delete_retention = hours{24};
              c.tail_bytes = 0;
          }) {}
    void clean() { must(embedded->clean_now()); }
    Keys keys(TopicPartition where) {
        Keys all;
        for (const auto& r : read_all(*this, where)) {
            all.push_back(r.key + (r.value ? "=" + *r.value : ""));
        }
        return all;
    }
};

}  // namespace

TEST_CASE("within the history window every record stays") {
    CleanedLog log;
    append(log, kNotifications, {record("a", "1"), record("a", std::nullopt), record("b", "1")});
    log.shared_clock.advance(hours{1} + minutes{59});  // the window, and an hour to be sure
    log.clean();
    CHECK(log.keys(kNotifications) == Keys{"a=1", "a", "b=1"});
    log.shared_clock.advance(minutes{2});
    log.clean();
    CHECK(log.keys(kNotifications) == Keys{"a", "b=1"});
}

TEST_CASE("a record goes only for a newer one that has left the window itself") {
    CleanedLog log;
    append(log, kNotifications, {record("a", "1")});
    log.shared_clock.advance(hours{3});
    append(log, kNotifications, {record("a", "2")});
    log.clean();
    CHECK(log.keys(kNotifications) == Keys{"a=1", "a=2"});
    log.shared_clock.advance(hours{3});
    log.clean();
    CHECK(log.keys(kNotifications) == Keys{"a=2"});
}

TEST_CASE("a tombstone that was the newest record leaves the end where it was, after a kill too") {
    CleanedLog log;
    log.close();
    log.config.boot_id = "boot 1";
    log.open();
    append(log, kNotifications, {record("a", "1"), record("a", std::nullopt)});
    log.shared_clock.advance(hours{26});
    log.clean();
    CHECK(log.keys(kNotifications).empty());
    const auto killed = log.directory / "killed";
    copy_as_killed(log.config.directory, killed);
    log.close();
    std::filesystem::remove_all(log.config.directory);
    std::filesystem::rename(killed, log.config.directory);
    log.open();
    CHECK(append(log, kNotifications, {record("b", "1")}).front().offset == 2);
}

TEST_CASE("tombstones go when every copy has had the time to read them") {
    CleanedLog log;
    append(log, kNotifications, {record("a", "1"), record("a", std::nullopt), record("b", "1")});
    log.shared_clock.advance(hours{23});
    log.clean();
    CHECK(log.keys(kNotifications) == Keys{"a", "b=1"});
    log.shared_clock.advance(hours{3});
    log.clean();
    CHECK(log.keys(kNotifications) == Keys{"b=1"});
    CHECK(ends_of(log, kNotifications) == Ends{0, 3});
}

TEST_CASE("a key that lives again after its tombstone stays") {
    CleanedLog log;
    append(log, kNotifications, {record("a", std::nullopt)});
    log.shared_clock.advance(hours{3});
    log.clean();
    append(log, kNotifications, {record("a", "2")});
    log.shared_clock.advance(hours{48});
    log.clean();
    CHECK(log.keys(kNotifications) == Keys{"a=2"});
}

TEST_CASE("a topic that is not compacted is kept for its retention, whole") {
    CleanedLog log;
    append(log, kTier, {record("a", "1"), record("a", "2"), record("a", std::nullopt)});
    log.shared_clock.advance(hours{24 * 13});
    append(log, kTier, {record("b")});
    log.clean();
    CHECK(log.keys(kTier).size() == 4);
    log.shared_clock.advance(hours{24 * 2});
    log.clean();
    CHECK(log.keys(kTier) == Keys{"b=value"});
    CHECK(ends_of(log, kTier) == Ends{3, 4});
    log.close();
    log.open();
    CHECK(ends_of(log, kTier) == Ends{3, 4});
    CHECK(log.keys(kTier) == Keys{"b=value"});
}

TEST_CASE("a message older than any TTL goes even without a tombstone") {
    CleanedLog log;
    append(log, kNotifications, {record("forgotten")});
    append(log, {Topic::kSubscriptions, 1}, {record("client")});
    log.shared_clock.advance(hours{24 * 32});
    log.clean();
    CHECK(log.keys(kNotifications).empty());
    CHECK(log.keys({Topic::kSubscriptions, 1}) == Keys{"client=value"});
}

TEST_CASE("cleaning goes on after a restart where it stood") {
    CleanedLog log;
    append(log, kNotifications, {record("a", "1"), record("b", "1")});
    log.shared_clock.advance(hours{3});
    log.clean();
    log.close();
    log.open();
    append(log, kNotifications, {record("a", "2")});
    log.shared_clock.advance(hours{3});
    log.clean();
    CHECK(log.keys(kNotifications) == Keys{"b=1", "a=2"});
}

TEST_CASE("cleaning many keys in many steps keeps exactly the newest of each") {
    CleanedLog log;
    std::map<std::string, std::string> newest;
    for (int round = 0; round < 12; ++round) {
        std::vector<core::Record> records;
        for (int i = 0; i < 1'000; ++i) {
            const auto key = "key" + std::to_string((i * 7 + round * 13) % 1'500);
            const auto value = std::to_string(round * 1'000 + i);
            records.push_back(record(key, value));
            newest[key] = value;
        }
        append(log, kNotifications, records);
        log.shared_clock.advance(hours{3});
        if (round % 3 == 0) log.clean();
    }
    log.clean();
    std::map<std::string, std::string> left;
    for (const auto& r : read_all(log, kNotifications)) CHECK(left.emplace(r.key, *r.value).second);
    CHECK(left == newest);
}

TEST_CASE("a wall clock that jumps ahead erases nothing") {
    CleanedLog log;
    append(log, kNotifications, {record("a", "1"), record("a", "2")});
    append(log, kTier, {record("b")});
    log.shared_clock.step_wall(hours{24 * 365});
    log.clean();
    CHECK(log.keys(kNotifications).size() == 2);
    CHECK(log.keys(kTier).size() == 1);
}

TEST_CASE("a wall clock that jumps back lets nothing be erased before it has come so far") {
    CleanedLog log;
    append(log, kNotifications, {record("a", "1"), record("a", "2")});
    log.shared_clock.step_wall(-hours{24});
    log.shared_clock.advance(hours{23});
    log.clean();
    CHECK(log.keys(kNotifications).size() == 2);
    log.shared_clock.advance(hours{4});
    log.clean();
    CHECK(log.keys(kNotifications) == Keys{"a=2"});
}
