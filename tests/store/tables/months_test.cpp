#include "store/edge_fixture.hpp"
#include "store/edge_store.hpp"
#include "store/rows/schema.hpp"
#include "support/faulty_disk.hpp"

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <rocksdb/db.h>

using namespace beckon;
using namespace beckon::store;

using namespace beckon::store::test;
using namespace std::chrono;
using Call = beckon::test::FaultyDisk::Call;

namespace {

core::Timestamp date(year_month_day day) { return core::Timestamp{sys_days{day}}; }

/// Seconds of at() for a date, since the fixture speaks in these.
std::int64_t seconds_of(year_month_day day) {
    return duration_cast<seconds>(date(day) - at(0)).count();
}

std::vector<std::string> month_families(const EdgeFixture& f, const EdgeStoreOptions& options) {
    std::vector<std::string> names;
    static_cast<void>(f);
    REQUIRE(rocksdb::DB::ListColumnFamilies({}, options.directory.string(), &names).ok());
    std::erase_if(names, [](const auto& name) { return !name.starts_with("messages."); });
    std::sort(names.begin(), names.end());
    return names;
}

/// The file in which RocksDB keeps which families there are.
std::string manifest_of(const EdgeStoreOptions& options) {
    for (const auto& file : std::filesystem::directory_iterator{options.directory}) {
        const auto name = file.path().filename().string();
        if (name.starts_with("MANIFEST")) return name;
    }
    return "no manifest";
}

constexpr std::uint32_t kDay = 86'400;

}  // namespace

TEST_CASE("a message lies in the family of the month in which it expires") {
    EdgeFixture f;
    const auto t = seconds_of(2026y / November / 20);
    f.put(t, "november", {.ttl_s = 5 * kDay});
    f.put(t + 1, "december", {.ttl_s = 20 * kDay});
    f.put(t + 2, "topic", {.ttl_s = 50 * kDay, .topic = "t"});
    f.commit();
    CHECK(f.drain(t + 10) == "topic november december");  // one order over all months
    f.close();
    CHECK(month_families(f, f.options()) ==
          std::vector<std::string>{"messages.2026_11", "messages.2026_12", "messages.2027_01"});
    f.open();
    CHECK(f.drain(t + 10) == "topic november december");
}

TEST_CASE("a month is dropped when both clocks are an hour past its end") {
    EdgeFixture f;
    const auto t = seconds_of(2026y / November / 20);
    f.put(t, "november", {.ttl_s = 5 * kDay});
    f.put(t + 1, "december", {.ttl_s = 20 * kDay});
    f.commit();
    const auto end = date(2026y / December / 1);
    const auto late = end + hours{1};
    const auto drop = [&](core::Timestamp log_now, core::Timestamp host_now) {
        return f.store().drop_past_months(log_now, host_now);
    };
    CHECK(drop(late - milliseconds{1}, late).empty());
    CHECK(drop(late, late - milliseconds{1}).empty());
    CHECK(drop(late, end - hours{24 * 300}).empty());  // a host's clock is wrong: nothing
    CHECK(drop(late, late) == std::vector<std::string>{"messages.2026_11"});
    CHECK(drop(late, late).empty());
    CHECK(f.drain(t + 10) == "december");
    f.close();
    CHECK(month_families(f, f.options()) == std::vector<std::string>{"messages.2026_12"});
}

// Both are steps of a drop that a crash may follow: nothing is done yet, or only the row is
// written.
TEST_CASE("a month whose drop fails half way is kept whole or gone at the next start") {
    beckon::test::FaultyDisk disk;
    EdgeStoreOptions options;
    options.env = disk.env();
    EdgeFixture f{options};
    const auto t = seconds_of(2026y / November / 20);
    f.put(t, "november", {.ttl_s = 5 * kDay});
    f.put(t + 1, "december", {.ttl_s = 20 * kDay});
    f.commit();
    const auto late = date(2026y / December / 1) + hours{1};
    const bool row_fails = GENERATE(true, false);
    CAPTURE(row_fails);
    disk.fail(Call::write, 1, row_fails ? ".log" : manifest_of(f.options()));
    CHECK(f.store().drop_past_months(late, late).empty());
    CHECK(disk.struck() == 1);
    disk.heal();
    f.reopen();
    CHECK(f.drain(t + 10) == (row_fails ? "november december" : "december"));
    CHECK(f.store().drop_past_months(late, late).size() == (row_fails ? 1 : 0));
    CHECK(f.drain(t + 10) == "december");
    f.close();
    CHECK(month_families(f, f.options()) == std::vector<std::string>{"messages.2026_12"});
}

TEST_CASE("months whose drop failed are dropped later, and one holds up no other") {
    beckon::test::FaultyDisk disk;
    EdgeStoreOptions options;
    options.env = disk.env();
    EdgeFixture f{options};
    const auto t = seconds_of(2026y / October / 20);
    f.put(t, "october", {.ttl_s = 5 * kDay});
    f.put(t + 1, "november", {.ttl_s = 20 * kDay});
    f.put(t + 2, "december", {.ttl_s = 50 * kDay});
    f.commit();
    const auto late = date(2026y / December / 1) + hours{1};
    disk.fail(Call::write, 1, manifest_of(f.options()));
    std::vector<std::string> dropped = f.store().drop_past_months(late, late);
    CHECK(disk.struck() == 1);
    CHECK(dropped.size() < 2);
    disk.heal();
    for (int i = 0; i < 100 && dropped.size() < 2; ++i) {
        for (auto& name : f.store().drop_past_months(late, late)) dropped.push_back(name);
        std::this_thread::sleep_for(milliseconds{20});
    }
    std::sort(dropped.begin(), dropped.end());
    CHECK(dropped == std::vector<std::string>{"messages.2026_10", "messages.2026_11"});
    f.close();
    CHECK(month_families(f, f.options()) == std::vector<std::string>{"messages.2026_12"});
}

TEST_CASE("a message that belongs to a month that is over goes with the oldest that is left") {
    EdgeFixture f;
    const auto t = seconds_of(2026y / November / 20);
    const auto now = date(2026y / December / 2);
    f.put(t, "old", {.ttl_s = 90 * kDay, .topic = "t"});
    f.commit();
    f.store().drop_past_months(now, now);
    const bool restart = GENERATE(false, true);
    if (restart) f.reopen();

    // The log's clock has stepped back since.
    CHECK(f.put(t + 1, "m1", {.ttl_s = 5 * kDay}) == PutOutcome::pending);
    CHECK(f.put(t + 2, "m2", {.ttl_s = 5 * kDay, .topic = "t"}) == PutOutcome::pending);
    CHECK(f.replaced() == "old");
    f.commit();
    CHECK(f.drain(t + 10) == "m2 m1");
    CHECK(f.finish("m1", t + 20));
    f.commit();
    f.reopen();
    CHECK(f.drain(t + 30) == "m2");
    CHECK(f.pending_tombstones() == "old:replaced");
    f.close();
    CHECK(month_families(f, f.options()) ==
          std::vector<std::string>{"messages.2026_12", "messages.2027_02"});
}

TEST_CASE("rows that are left of a dropped month's messages do no harm") {
    EdgeFixture f;
    const auto t = seconds_of(2026y / November / 20);
    const auto now = date(2026y / December / 2);
    f.put(t, "m1", {.ttl_s = 5 * kDay});
    f.put(t + 1, "topic", {.ttl_s = 5 * kDay, .topic = "t"});
    f.commit();
    f.put(t + 2, "late", {.ttl_s = 5 * kDay});  // not committed when the month goes
    f.store().drop_past_months(now, now);
    f.commit();
    CHECK(f.drain(t + 10).empty());
    f.finish("m1", t + 20);
    f.put(seconds_of(2026y / December / 3), "topic2", {.ttl_s = kDay, .topic = "t"});
    f.commit();
    CHECK(f.drain(seconds_of(2026y / December / 3)) == "topic2");
    CHECK(f.pending_tombstones().empty());
}

TEST_CASE("without rotation there is one family, and nothing is dropped") {
    EdgeStoreOptions options;
    options.rotation = Rotation::off;
    EdgeFixture f{options};
    const auto t = seconds_of(2026y / November / 20);
    f.put(t, "november", {.ttl_s = 5 * kDay});
    f.put(t + 1, "january", {.ttl_s = 50 * kDay});
    f.commit();
    const auto later = date(2027y / June / 1);
    CHECK(f.store().drop_past_months(later, later).empty());
    CHECK(f.drain(t + 10) == "november january");
    f.close();
    CHECK(month_families(f, f.options()) == std::vector<std::string>{"messages.all"});
}

TEST_CASE("months come and go while other threads fold, read and commit") {
    EdgeFixture f;
    f.close();
    EdgeStoreOptions options = f.options();
    options.memory = std::make_shared<rocks::Memory>(8U << 20, 2U << 20);
    auto store = EdgeStore::open(options);
    REQUIRE(store);
    constexpr int kMonths = 24;
    std::atomic<int> month = 0;  ///< since 2026-01; what is older is being dropped
    std::atomic<int> failures = 0;
    std::atomic<std::int64_t> folded = 0;
    const auto time_of = [](int m) { return date(year{2026 + m / 12} / (m % 12 + 1) / 10); };
    const auto fold = [&](core::Partition partition) {
        auto part = (*store)->open_partition(partition);
        const auto uaid = uaid_of("client-" + std::to_string(partition));
        for (core::Offset offset = 0; month < kMonths; ++offset) {
            // Some expire in the month before, which may be gone any moment.
            const int expires_in = month + static_cast<int>(offset % 3) - 1;
            const auto appended = time_of(std::max(expires_in, 0)) - hours{1};
            const std::string name = std::to_string(partition) + "/" + std::to_string(offset);
            const auto event = accepted(uaid, name);
            part->put(offset, appended, event, nullptr);
            if (offset % 7 == 0) {
                DrainCursor cursor{.until = offset + 1};
                part->read_pending(uaid, cursor, 5, appended, [](const MessageView&) {});
            }
            if (offset % 3 == 0) part->add_tombstone(uaid, event.key, core::FinishReason::acked);
            part->advance(Source::notifications, offset + 1, std::nullopt);
            if (offset % 5 == 0 && !part->commit()) ++failures;
            ++folded;
        }
    };
    std::thread a{fold, 1};
    std::thread b{fold, 2};
    std::size_t dropped = 0;
    for (int m = 0; m < kMonths; ++m) {
        const auto enough = folded + 200;
        while (folded < enough) std::this_thread::yield();
        month = m + 1;
        const auto now = time_of(m + 1);
        dropped += (*store)->drop_past_months(now, now).size();
    }
    a.join();
    b.join();
    CHECK(failures == 0);
    CHECK(dropped >= kMonths / 2);
    auto part = (*store)->open_partition(1);
    part->put(1'000'000, time_of(kMonths + 1), accepted(uaid_of("client-1"), "last"), nullptr);
    CHECK(part->commit());
}
