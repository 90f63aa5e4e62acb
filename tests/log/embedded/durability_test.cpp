#include "log/contract_support.hpp"
#include "log/embedded/embedded_under_test.hpp"
#include "log/embedded/sync_gate.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using log::EmbeddedConfig;
using log::Ends;
using log::Sync;
using log::Topic;
using log::TopicPartition;

namespace {

const TopicPartition kWhere{Topic::kNotifications, 1};
constexpr core::Offset kBlock = 65'536;
using Keys = std::vector<std::string>;

EmbeddedUnderTest::Change with(Sync sync) {
    return [sync](EmbeddedConfig& c) { c.sync = sync; };
}

/// A copy of the log as a power loss at this moment would leave it, opened.
struct AfterPowerLoss : EmbeddedUnderTest {
    explicit AfterPowerLoss(const EmbeddedUnderTest& original)
        : EmbeddedUnderTest([&](EmbeddedConfig& c) {
              c.sync = original.config.sync;
              sync_gate::copy_what_is_synced(original.config.directory, c.directory);
          }) {}
};

}  // namespace

TEST_CASE("with sync = always nothing is answered or shown before it is on disk") {
    EmbeddedUnderTest log{with(Sync::always)};
    append(log, kWhere, {record("before")});
    Collector reader{log, kWhere, 0};
    REQUIRE(log.wait_until([&] { return reader.drained; }));
    const auto publisher = log.log().open_publisher(log.executor());
    bool answered = false;
    sync_gate::close();
    publisher->publish(kWhere, record("not yet"), [&](const auto& r) { answered = r.has_value(); });
    REQUIRE(sync_gate::wait_until_somebody_waits());

    CHECK_FALSE(answered);
    CHECK(publisher->unanswered() == 1);
    CHECK(ends_of(log, kWhere) == Ends{0, 1});
    reader.take();
    CHECK(reader.keys() == Keys{"before"});
    Collector late{log, kWhere, 0};
    REQUIRE(log.wait_until([&] { return late.drained; }));
    CHECK(late.keys() == Keys{"before"});

    sync_gate::open();
    REQUIRE(log.wait_until([&] { return answered && reader.seen.size() == 2; }));
    CHECK(reader.keys() == Keys{"before", "not yet"});
}

TEST_CASE("only sync = always syncs for each publish") {
    const auto syncs_of = [](Sync sync) {
        EmbeddedUnderTest log{with(sync)};
        append(log, kWhere, {record("takes a block")});
        const auto before = sync_gate::count();
        for (int i = 0; i < 5; ++i) append(log, kWhere, {record("key")});
        return sync_gate::count() - before;
    };
    CHECK(syncs_of(Sync::always) >= 5);
    CHECK(syncs_of(Sync::never) == 0);
}

TEST_CASE("with sync = always a power loss at any moment loses nothing that was answered") {
    const auto seed = GENERATE(range(1u, 9u));
    CAPTURE(seed);
    std::mt19937 random{seed};
    EmbeddedUnderTest log{with(Sync::always)};
    const auto publisher = log.log().open_publisher(log.executor());
    std::vector<Read> answered;
    const int count = 200;
    const auto lost_at = random() % count;
    int done = 0;
    for (int i = 0; i < count; ++i) {
        const auto r = record("key" + std::to_string(i), std::string(random() % 500, 'x'));
        publisher->publish(kWhere, r, [&, r](const auto& result) {
            REQUIRE(result);
            ++done;
            answered.push_back(expected(r, *result));
        });
        if (random() % 4 == 0) log.wait_until([&] { return done > i / 2; });
    }
    REQUIRE(log.wait_until([&] { return answered.size() > lost_at; }));
    const auto answered_before = answered;  // the writer goes on meanwhile
    AfterPowerLoss copy{log};
    REQUIRE(log.wait_until([&] { return done == count; }));

    const auto survived = read_all(copy, kWhere);
    REQUIRE(survived.size() >= answered_before.size());
    const std::vector head(survived.begin(),
                           survived.begin() + static_cast<std::ptrdiff_t>(answered_before.size()));
    CHECK(head == answered_before);
    CHECK(std::equal(survived.begin(), survived.end(), answered.begin()));
    CHECK(append(copy, kWhere, {record("after")}).front().offset > answered.back().offset);
}

TEST_CASE("a power loss may take the last records with sync = never, but no offset comes twice") {
    EmbeddedUnderTest log{with(Sync::never)};
    auto written = append(log, kWhere, {record("with its block, so synced")});
    for (const auto& r : append(log, kWhere, numbered("key", 100))) written.push_back(r);
    REQUIRE(read_all(log, kWhere) == written);
    AfterPowerLoss copy{log};
    const auto survived = read_all(copy, kWhere);
    REQUIRE(survived.size() < written.size());
    CHECK(std::equal(survived.begin(), survived.end(), written.begin()));
    const auto after = append(copy, kWhere, {record("after")}).front();
    CHECK(after.offset == kBlock);
    CHECK(read_all(copy, kWhere, written.back().offset + 1) == std::vector{after});
}

TEST_CASE("a block is reserved on disk before its first offset is seen") {
    EmbeddedUnderTest log{with(Sync::never)};
    const auto publisher = log.log().open_publisher(log.executor());
    core::Offset last = -1;
    std::size_t answers = 0;
    const std::size_t count = kBlock + 10;
    for (std::size_t i = 0; i < count; ++i) {
        publisher->publish(kWhere, record("key", ""), [&](const auto& result) {
            REQUIRE(result);
            last = result->offset;
            ++answers;
        });
        if (publisher->unanswered() > 5'000) log.wait_until([&] { return answers >= i - 2'000; });
    }
    REQUIRE(log.wait_until([&] { return answers == count; }));
    REQUIRE(last >= kBlock);
    AfterPowerLoss copy{log};
    CHECK(append(copy, kWhere, {record("after")}).front().offset == 2 * kBlock);
}

TEST_CASE("a clean stop keeps the exact end") {
    EmbeddedUnderTest log;
    const auto written = append(log, kWhere, numbered("key", 7));
    for (int i = 0; i < 3; ++i) {
        log.close();
        log.open();
        CHECK(ends_of(log, kWhere) == Ends{0, 7});
    }
    CHECK(append(log, kWhere, {record("next")}).front().offset == 7);
}

TEST_CASE("a reader of before an unclean stop goes on behind the gap") {
    EmbeddedUnderTest log{with(Sync::always)};
    append(log, kWhere, numbered("key", 7));
    AfterPowerLoss copy{log};
    CHECK(ends_of(copy, kWhere) == Ends{0, kBlock});
    Collector reader{copy, kWhere, 7};
    REQUIRE(copy.wait_until([&] { return reader.drained; }));
    CHECK(reader.reader->position() == kBlock);
    append(copy, kWhere, {record("new")});
    REQUIRE(copy.wait_until([&] { return !reader.seen.empty(); }));
    CHECK(reader.keys() == Keys{"new"});
}

// After `kill -9` the kernel has every written byte, and the process has not recorded a clean stop.
TEST_CASE("after a kill a partition goes on behind its last record, in the same boot alone") {
    const auto sync = GENERATE(Sync::always, Sync::never);
    const TopicPartition other{Topic::kNotifications, 2};
    EmbeddedUnderTest log{[&](log::EmbeddedConfig& c) {
        c.sync = sync;
        c.boot_id = "boot 1";
    }};
    append(log, kWhere, numbered("key", 7));
    log.close();
    log.open();  // a clean stop in between
    append(log, kWhere, numbered("key", 3));
    append(log, other, numbered("key", 2));
    const auto killed = log.directory / "killed";
    copy_as_killed(log.config.directory, killed);
    log.close();
    const auto opened_in = [&](const std::string& boot) {
        return std::make_unique<EmbeddedUnderTest>([&](log::EmbeddedConfig& c) {
            std::filesystem::copy(killed, c.directory, std::filesystem::copy_options::recursive);
            c.sync = sync;
            c.boot_id = boot;
        });
    };
    {
        const auto again = opened_in("boot 1");
        CHECK(ends_of(*again, kWhere) == Ends{0, 10});
        CHECK(ends_of(*again, other) == Ends{0, 2});
        CHECK(append(*again, kWhere, {record("next")}).front().offset == 10);
    }
    for (const std::string boot : {"boot 2", ""}) {
        CAPTURE(boot);
        CHECK(ends_of(*opened_in(boot), kWhere) == Ends{0, kBlock});
    }
}

// A snapshot of the disk that was restored, say, beside a store that is newer.
TEST_CASE("a log that was restored has lost what was read of it since, and nothing else") {
    EmbeddedUnderTest log{[](log::EmbeddedConfig& c) { c.boot_id = "boot 1"; }};
    append(log, kWhere, numbered("key", 7));
    const auto snapshot = log.directory / "snapshot";
    copy_as_killed(log.config.directory, snapshot);
    append(log, kWhere, numbered("later", 3));
    log.close();
    EmbeddedUnderTest again{[&](log::EmbeddedConfig& c) {
        std::filesystem::copy(snapshot, c.directory, std::filesystem::copy_options::recursive);
        c.boot_id = "boot 2";
    }};
    const auto is_made_anew = [&](core::Offset next) {
        std::optional<core::Result<bool>> answer;
        again.log().is_made_anew(kWhere, {next, core::Timestamp{std::chrono::milliseconds{1}}},
                                 again.executor(),
                                 [&](core::Result<bool> r) { answer = std::move(r); });
        REQUIRE(again.wait_until([&] { return answer.has_value(); }));
        return answer->value();
    };
    CHECK_FALSE(is_made_anew(5));
    CHECK_FALSE(is_made_anew(7));
    CHECK(is_made_anew(8));
    CHECK(is_made_anew(10));
    CHECK_FALSE(is_made_anew(kBlock));  // who has read up to here since the start
    append(again, kWhere, {record("new")});
    CHECK_FALSE(is_made_anew(kBlock + 1));
    CHECK(is_made_anew(10));
}

// A disk that was taken away and came back may have lost records and not the group's offset.
TEST_CASE("after a kill no group has come further than the end of a partition") {
    EmbeddedUnderTest log{[](log::EmbeddedConfig& c) { c.boot_id = "boot 1"; }};
    append(log, kWhere, numbered("key", 3));
    std::optional<core::Result<void>> committed;
    log.log().commit("group", {{kWhere, 20}}, log.executor(),
                     [&](core::Result<void> r) { committed = std::move(r); });
    REQUIRE(log.wait_until([&] { return committed.has_value(); }));
    REQUIRE(*committed);
    const auto killed = log.directory / "killed";
    copy_as_killed(log.config.directory, killed);
    log.close();
    std::filesystem::remove_all(log.config.directory);
    std::filesystem::rename(killed, log.config.directory);
    log.open();
    CHECK(append(log, kWhere, {record("next")}).front().offset == 20);
}

TEST_CASE("bytes that a failed sync left on disk are never shown, not even after a restart") {
    EmbeddedUnderTest log{with(Sync::always)};
    append(log, kWhere, {record("before")});
    Collector live{log, kWhere, 0};
    auto publisher = log.log().open_publisher(log.executor());
    sync_gate::fail_next(1);
    const auto failed = publish_all(log, *publisher, kWhere, {record("failed")});
    REQUIRE_FALSE(failed[0]);
    CHECK(failed[0].error().retryable());

    publish_until_taken(log, *publisher, kWhere, record("after"));
    REQUIRE(log.wait_until([&] { return !live.seen.empty() && live.seen.back().key == "after"; }));
    CHECK(live.keys() == Keys{"before", "after"});
    CHECK(read_all(log, kWhere) == live.seen);
    AfterPowerLoss copy{log};
    CHECK(read_all(copy, kWhere) == live.seen);
    publisher.reset();
    live.reader.reset();
    log.close();
    log.open();
    CHECK(read_all(log, kWhere) == live.seen);
}

TEST_CASE("a copy made while others write is a log with all that was answered before") {
    EmbeddedUnderTest log{with(Sync::always)};
    append(log, kWhere, {record("1"), record("2")});
    const auto publisher = log.log().open_publisher(log.executor());
    bool answered = false;
    publisher->publish(kWhere, record("3"), [&](const auto& r) { answered = r.has_value(); });
    const auto copy = log.directory / "copy";
    REQUIRE(log.embedded->copy_to(copy));
    REQUIRE(log.wait_until([&] { return answered; }));
    CHECK_FALSE(log.embedded->copy_to(copy));  // it is there already

    EmbeddedUnderTest copied{[&](EmbeddedConfig& c) { c.directory = copy; }};
    Collector reader{copied, kWhere, 0};
    REQUIRE(copied.wait_until([&] { return reader.drained; }));
    const auto keys = reader.keys();
    REQUIRE(keys.size() >= 2);
    CHECK(Keys(keys.begin(), keys.begin() + 2) == Keys{"1", "2"});
    append(copied, kWhere, {record("4")});
}

TEST_CASE("a copy gives out no offset that the log may have given out since") {
    const auto in_this_boot = [](EmbeddedConfig& c) { c.boot_id = "boot 1"; };
    EmbeddedUnderTest log{in_this_boot};
    append(log, kWhere, {record("1")});
    const auto copy = log.directory / "copy";
    REQUIRE(log.embedded->copy_to(copy));
    append(log, kWhere, {record("2"), record("3")});
    const auto newest = read_all(log, kWhere).back().offset;

    EmbeddedUnderTest copied{[&](EmbeddedConfig& c) {
        in_this_boot(c);
        c.directory = copy;
    }};
    append(copied, kWhere, {record("other")});
    CHECK(read_all(copied, kWhere).back().offset > newest);
    // From here on it is a log of its own.
    CHECK_FALSE(std::filesystem::exists(copy / "COPY"));
}

TEST_CASE("a copy of a log whose records are all in tables opens too") {
    EmbeddedUnderTest log;
    append(log, kWhere, {record("1")});
    log.close();  // flushes
    log.open();
    const auto copy = log.directory / "copy";
    REQUIRE(log.embedded->copy_to(copy));
    EmbeddedUnderTest copied{[&](EmbeddedConfig& c) { c.directory = copy; }};
    const auto records = read_all(copied, kWhere);
    REQUIRE(records.size() == 1);
    CHECK(records.front().key == "1");
}
