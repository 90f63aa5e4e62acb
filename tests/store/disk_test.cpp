// The stores on a disk that fails, hangs or lies.
#include "store/edge_fixture.hpp"
#include "store/subscription_store.hpp"
#include "support/faulty_disk.hpp"

#include <filesystem>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <rocksdb/db.h>
#include <rocksdb/iterator.h>

using namespace beckon;
using namespace beckon::store;
using namespace beckon::store::test;
using beckon::test::FaultyDisk;
using Call = FaultyDisk::Call;

namespace {

constexpr int kEvery = std::numeric_limits<int>::max();

/// A store on a faulty disk with one client and one message, both in tables and not in memory.
struct DiskFixture {
    DiskFixture() : f(options()) {
        f.part().put_client({.uaid = f.uaid, .stamp = core::WriteStamp{1, 1}});
        f.put(1, "m1");
        f.part().advance(Source::notifications, 2, at(2));
        f.commit();
        f.reopen();
    }
    EdgeStoreOptions options() {
        EdgeStoreOptions made;
        made.env = disk.env();
        return made;
    }

    FaultyDisk disk;
    EdgeFixture f;
};

}  // namespace

TEST_CASE("a read that fails for a moment denies nothing, wipes nothing, and passes") {
    DiskFixture on;
    auto& f = on.f;
    f.put(2, "m2");
    f.part().advance(Source::notifications, 3, std::nullopt);
    on.disk.fail_of_this_thread(Call::read, 1, ".sst");

    CHECK_FALSE(f.part().client(f.uaid));
    CHECK(on.disk.struck() == 1);
    REQUIRE(f.part().broken());
    CHECK(f.part().commit_due());  // changes on top of it are void
    const auto committed = f.part().commit();
    REQUIRE_FALSE(committed);
    CHECK(committed.error().fault == core::Fault::unavailable);

    // Back to the last commit, from where everything is folded again.
    CHECK_FALSE(f.part().broken());
    CHECK(f.part().checkpoint(Source::notifications) ==
          core::Checkpoint{.next = 2, .caught_up = at(2)});
    CHECK(f.part().client(f.uaid));
    CHECK(f.put(2, "m2") == PutOutcome::pending);
    f.part().advance(Source::notifications, 3, std::nullopt);
    f.commit();
    f.reopen();
    CHECK(f.drain() == "m1 m2");
}

TEST_CASE("a damaged block is reported as such, and the partition can be folded anew") {
    DiskFixture on;
    auto& f = on.f;
    on.disk.corrupt_reads(".sst");
    CHECK_FALSE(f.part().client(f.uaid));
    const auto committed = f.part().commit();
    REQUIRE_FALSE(committed);
    CHECK(committed.error().fault == core::Fault::corrupt);
    CHECK_FALSE(f.part().commit());  // it does not pass by itself

    on.disk.heal();
    REQUIRE(f.part().clear());
    CHECK_FALSE(f.part().checkpoint(Source::notifications));
    CHECK(f.put(1, "m1") == PutOutcome::pending);
    f.commit();
    CHECK(f.drain() == "m1");
}

TEST_CASE("a store whose files cannot be opened for a moment is neither set aside nor emptied") {
    DiskFixture on;
    auto& f = on.f;
    f.close();
    const auto call = GENERATE(Call::open, Call::read);
    on.disk.fail(call, kEvery, ".sst");
    const auto refused = EdgeStore::open(f.options());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().fault == core::Fault::unavailable);
    on.disk.heal();
    f.open();
    CHECK(f.part().checkpoint(Source::notifications) ==
          core::Checkpoint{.next = 2, .caught_up = at(2)});
    CHECK(f.drain() == "m1");
}

// RocksDB does not go on after such an error before it is opened again.
TEST_CASE("a failed write says what to do, and loses only the rows that it refused") {
    DiskFixture on;
    auto& f = on.f;
    f.put(20, "last");
    on.disk.fail(Call::write, 1, ".log");
    REQUIRE_FALSE(f.part().commit());
    const auto refused = f.part().commit();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().fault == core::Fault::unavailable);
    CHECK_THAT(refused.error().message, Catch::Contains("until this process is restarted"));
    CHECK(f.drain() == "m1 last");
    f.reopen();
    CHECK(f.drain() == "m1");
    CHECK(f.part().checkpoint(Source::notifications) ==
          core::Checkpoint{.next = 2, .caught_up = at(2)});
}

namespace {

/// A view on a faulty disk with one client and one channel, both in tables and not in memory.
struct ViewFixture {
    ViewFixture() {
        open();
        fold_anew();
        open();
    }
    void open() {
        store.reset();
        auto opened = SubscriptionStore::open(options);
        if (!opened) throw std::runtime_error(opened.error().message);
        store = std::move(*opened);
    }
    void fold_anew() {
        store->fold(partition, core::ClientRecorded{.uaid = uaid}, at(1));
        store->fold(partition, core::ChannelRecorded{.uaid = uaid, .channel = channel}, at(2));
        store->advance(partition, 2, at(2));
        REQUIRE(store->commit());
    }

    beckon::test::TempDir dir;
    FaultyDisk disk;
    SubscriptionStoreOptions options{.directory = dir / "view",
                                     .log_id = "log-1",
                                     .partitions = 4,
                                     .memory = nullptr,
                                     .env = disk.env()};
    const core::Uaid uaid = uaid_of("client-1");
    const core::ChannelId channel = channel_of("c1");
    const core::Partition partition = core::partition_of(uaid, 4);
    std::unique_ptr<SubscriptionStore> store;
};

/// The value of every row of a family becomes one that none of our builds wrote.
void spoil_rows(const std::filesystem::path& directory, const std::string& family) {
    std::vector<std::string> names;
    REQUIRE(rocksdb::DB::ListColumnFamilies({}, directory.string(), &names).ok());
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const auto& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions{});
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    REQUIRE(rocksdb::DB::Open({}, directory.string(), families, &handles, &opened).ok());
    const std::unique_ptr<rocksdb::DB> db{opened};
    for (auto* handle : handles) {
        if (handle->GetName() == family) {
            const std::unique_ptr<rocksdb::Iterator> row{db->NewIterator({}, handle)};
            for (row->SeekToFirst(); row->Valid(); row->Next()) {
                REQUIRE(db->Put({}, handle, row->key(), "spoilt").ok());
            }
        }
    }
    for (auto* handle : handles) db->DestroyColumnFamilyHandle(handle);
}

}  // namespace

// Verified to fail when a lookup ignores a read that failed.
TEST_CASE("a lookup that failed is an error and no answer, and it passes") {
    ViewFixture v;
    v.disk.fail(Call::read, kEvery, ".sst");
    CHECK(v.store->client(v.uaid).error().fault == core::Fault::unavailable);
    CHECK(v.store->find(v.uaid, v.channel).error().fault == core::Fault::unavailable);
    CHECK(v.store->channels(v.uaid).error().fault == core::Fault::unavailable);
    CHECK_FALSE(v.store->damaged(v.partition));
    v.disk.heal();
    CHECK(v.store->find(v.uaid, v.channel).value()->channel_known);
    CHECK(v.store->channels(v.uaid).value() == std::vector{v.channel});
    v.store->advance(v.partition, 3, at(3));
    CHECK(v.store->commit());  // nothing is folded anew for it
}

TEST_CASE("a fold on a failed read is dropped with its batch, and only that") {
    ViewFixture v;
    v.disk.fail_of_this_thread(Call::read, 1, ".sst");
    v.store->fold(v.partition, core::ClientRemoved{.uaid = v.uaid, .stamp = {}}, at(3));
    v.store->advance(v.partition, 3, at(3));
    const auto committed = v.store->commit();
    REQUIRE_FALSE(committed);
    CHECK(committed.error().fault == core::Fault::unavailable);
    CHECK(v.store->checkpoint(v.partition)->next == 2);
    CHECK_FALSE(v.store->damaged(v.partition));
    CHECK(v.store->client(v.uaid).value());
}

// Verified to fail when clear() asks the damaged rows for leave.
TEST_CASE("a damaged row of the view heals when its partition is cleared and folded anew") {
    ViewFixture v;
    const bool in_a_lookup = GENERATE(true, false);
    CAPTURE(in_a_lookup);
    const auto another = (v.partition + 1) % 4;
    v.store.reset();
    spoil_rows(v.options.directory, "clients");
    v.open();
    if (in_a_lookup) {
        CHECK(v.store->find(v.uaid, v.channel).error().fault == core::Fault::corrupt);
    } else {
        v.store->fold(v.partition, core::ClientRecorded{.uaid = v.uaid}, at(3));
        CHECK_FALSE(v.store->commit());
    }
    CHECK(v.store->damaged(v.partition));
    CHECK_FALSE(v.store->damaged(another));
    v.store->advance(another, 7, at(3));
    CHECK(v.store->commit());  // it is nobody else's damage
    REQUIRE(v.store->clear(v.partition));
    CHECK_FALSE(v.store->damaged(v.partition));
    CHECK(v.store->checkpoint(another)->next == 7);
    CHECK_FALSE(v.store->checkpoint(v.partition));
    v.fold_anew();
    v.open();
    CHECK(v.store->find(v.uaid, v.channel).value()->channel_known);
}

TEST_CASE("pending tombstones are read in pages from the store, in the order of their puts") {
    EdgeFixture f;
    for (int i = 1; i <= 9; ++i) f.put(i, "m" + std::to_string(i));
    for (int i = 9; i >= 1; --i) {
        f.add_tombstone("m" + std::to_string(i));
        if (i % 4 == 0) f.commit();  // some stand in the table, some only in memory
    }
    f.finish("m5");
    std::vector<PendingTombstone> all;
    std::optional<PendingTombstone> last;
    for (;;) {
        const auto page = f.part().pending_tombstones_after(last, 2);
        if (page.empty()) break;
        CHECK(page.size() <= 2);
        all.insert(all.end(), page.begin(), page.end());
        last = all.back();
    }
    std::vector<core::Offset> puts;
    for (const auto& pending : all) puts.push_back(pending.put_offset);
    CHECK(puts == std::vector<core::Offset>{1, 2, 3, 4, 6, 7, 8, 9});
    CHECK(all == f.part().pending_tombstones());
    CHECK(f.part().pending_tombstone_count() == 8);
    f.commit();
    f.reopen();
    CHECK(f.part().pending_tombstones() == all);
    CHECK(f.part().pending_tombstone_count() == 8);
}

TEST_CASE("reading waiting messages changes nothing") {
    EdgeFixture f;
    f.put(1, "short", {.ttl_s = 1});
    f.put(2, "long");
    f.commit();
    DrainCursor cursor{.topics = true, .after = -1, .until = 100};
    const auto read = f.part().read_pending(f.uaid, cursor, 10, at(50), [](const auto&) {});
    CHECK(read.messages == 1);
    REQUIRE(read.expired.size() == 1);
    CHECK_FALSE(f.part().dirty());
    CHECK(f.pending_tombstones().empty());
    f.part().expire(f.uaid, read.expired);
    CHECK(f.pending_tombstones() == "short:expired");
}
