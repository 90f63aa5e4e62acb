#include "store/database.hpp"

#include "store/edge_fixture.hpp"
#include "store/rows/row_key.hpp"
#include "support/faulty_disk.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <rocksdb/db.h>
#include <rocksdb/env.h>

using namespace beckon;
using namespace beckon::store;

using namespace beckon::store::test;
using Properties = rocksdb::DB::Properties;

namespace {

/// RocksDB's thread for flushes (HIGH) or for compactions (LOW) does nothing before open().
class Gate {
public:
    explicit Gate(rocksdb::Env::Priority thread) {
        rocksdb::Env::Default()->Schedule([](void* gate) { static_cast<Gate*>(gate)->wait(); },
                                          this, thread);
        wait_for(State::waiting);
    }
    ~Gate() {
        open();
        wait_for(State::passed);
    }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    void open() {
        const std::scoped_lock lock{mutex_};
        open_ = true;
        changed_.notify_all();
    }

private:
    enum class State { scheduled, waiting, passed };

    void wait() {
        std::unique_lock lock{mutex_};
        state_ = State::waiting;
        changed_.notify_all();
        changed_.wait(lock, [&] { return open_; });
        state_ = State::passed;
        changed_.notify_all();
    }
    void wait_for(State state) {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return state_ == state; });
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
    State state_ = State::scheduled;
};

template <class Condition>
void wait_until(const Condition& condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
}

DatabaseOptions options_in(const beckon::test::TempDir& dir) {
    DatabaseOptions options;
    options.directory = dir / "db";
    options.log_id = "log-1";
    options.format = "test/1";
    options.families = {{"keys", FamilyKind::keys}};
    return options;
}

struct OnFaultyDisk {
    OnFaultyDisk() {
        auto options = options_in(dir);
        options.families = {{"keys", FamilyKind::messages}};  // not compressed
        options.env = disk.env();
        auto opened = Database::open(options);
        REQUIRE(opened);
        database = std::move(*opened);
        family = database->family("keys");
    }
    core::Result<void> put(const std::string& key) {
        rocksdb::WriteBatch row;
        row.Put(family.get(), key, std::string(1U << 16, 'x'));
        return database->write(row);
    }

    beckon::test::TempDir dir;
    beckon::test::FaultyDisk disk;
    std::unique_ptr<Database> database;
    Family family;
};

std::uint64_t number(rocksdb::DB& db, const std::string& property) {
    std::uint64_t value = 0;
    db.GetAggregatedIntProperty(property, &value);
    return value;
}

}  // namespace

TEST_CASE("rows of a partition are erased, and no deletion is written where there are none") {
    const beckon::test::TempDir dir;
    const auto opened = Database::open(options_in(dir));
    REQUIRE(opened);
    const auto& database = **opened;
    const auto family = database.family("keys");
    const auto has = [&](core::Partition partition) {
        std::string value;
        const auto key = key_row_key(partition, uaid_of("u"), key_of("k"));
        return database.db().Get({}, family.get(), slice(key.view()), &value).ok();
    };
    rocksdb::WriteBatch rows;
    for (const core::Partition partition : {1, 3}) {
        rows.Put(family.get(), slice(key_row_key(partition, uaid_of("u"), key_of("k")).view()),
                 "row");
    }
    REQUIRE(database.db().Write({}, &rows).ok());

    rocksdb::WriteBatch none;
    for (const core::Partition partition : {0, 2, 4}) {
        database.erase_rows_of(partition, family, none);
    }
    CHECK(none.Count() == 0);

    rocksdb::WriteBatch erased;
    database.erase_rows_of(1, family, erased);
    CHECK(erased.Count() == 1);
    REQUIRE(database.db().Write({}, &erased).ok());
    CHECK_FALSE(has(1));
    CHECK(has(3));
}

// Its error ended the wait of the failed write for the flush, which then never began, and the next
// write waited for it for ever.
TEST_CASE("a compaction that fails while a failed write waits for a flush does not end that wait") {
    OnFaultyDisk on;
    auto& [dir, disk, database, family] = on;
    auto& db = database->db();
    for (int table = 0; table < 2; ++table) {  // two are merged, one would be moved
        REQUIRE(on.put("a"));
        REQUIRE(on.put("b"));
        REQUIRE(db.Flush({}, family.get()).ok());
    }

    Gate compactions{rocksdb::Env::Priority::LOW};
    Gate flushes{rocksdb::Env::Priority::HIGH};
    std::thread merge{
        [&] { CHECK_FALSE(db.CompactRange({}, family.get(), nullptr, nullptr).ok()); }};
    wait_until([] {
        return rocksdb::Env::Default()->GetThreadPoolQueueLen(rocksdb::Env::Priority::LOW) > 0;
    });
    for (int row = 0; number(db, Properties::kMemTableFlushPending) == 0; ++row) {
        REQUIRE(on.put(std::to_string(row)));
    }
    disk.fill();
    std::thread background{[&] {
        wait_until([&] { return disk.struck() > 0; });
        compactions.open();
        wait_until([&] { return number(db, Properties::kBackgroundErrors) > 0; });
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
        flushes.open();
    }};
    const auto refused = on.put("c");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().fault == core::Fault::full);
    background.join();
    merge.join();

    disk.heal();
    wait_until([&] { return on.put("c").has_value(); });
    CHECK(database->needs_restart().empty());
}

// Its error came while RocksDB recovered, which then failed, and nothing was written until a
// restart.
TEST_CASE("a compaction that began before a disk was full does not end the recovery") {
    OnFaultyDisk on;
    auto& [dir, disk, database, family] = on;
    for (int round = 0; round < 4; ++round) {
        CAPTURE(round);
        for (int row = 0; number(database->db(), Properties::kNumRunningCompactions) == 0; ++row) {
            static_cast<void>(on.put(std::to_string(row % 1'000)));  // flushes may be behind
        }
        const int before = disk.struck();
        disk.fill();
        wait_until([&] { return !on.put("a") && disk.struck() > before; });
        disk.heal();
        wait_until([&] { return on.put("a") || !database->needs_restart().empty(); });
        REQUIRE(database->needs_restart().empty());
    }
}
