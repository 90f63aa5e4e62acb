// The store of an edge on a disk without space, and on a disk that hangs in a sync.
#include "store/edge_fixture.hpp"
#include "support/faulty_disk.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <rocksdb/env.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace beckon;
using namespace beckon::store;
using namespace beckon::store::test;
using beckon::test::FaultyDisk;
using Call = FaultyDisk::Call;

namespace {

constexpr int kMost = 20'000;  ///< messages; the write buffers take fewer

EdgeStoreOptions options_on(const FaultyDisk& disk) {
    EdgeStoreOptions made;
    made.env = disk.env();
    made.write_buffer_bytes = 1U << 20;
    return made;
}

/// Messages of another client until a commit is refused; how many were committed before.
int write_until_refused(EdgeFixture& f, core::Result<void>& refusal, int from = 0) {
    static const std::string kBody(4'000, 'x');
    for (int i = from; i < kMost; ++i) {
        const auto offset = 100 + i;
        const auto name = "f" + std::to_string(i);
        f.part().put(offset, at(offset), accepted(uaid_of("filler"), name, {.body = kBody}),
                     nullptr);
        f.part().advance(Source::notifications, offset + 1, std::nullopt);
        refusal = f.part().commit();
        if (!refusal) return i;
    }
    return kMost;
}

/// However often it is tried for a while.
bool stays_refused(EdgeFixture& f) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{200};
    while (std::chrono::steady_clock::now() < until) {
        if (f.part().commit()) return false;
        std::this_thread::yield();
    }
    return true;
}

/// Tables are written by a thread of RocksDB.
bool was_struck(const FaultyDisk& disk) {
    for (int i = 0; i < 3'000 && disk.struck() == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    return disk.struck() > 0;
}

/// While it lives the process can open no further file.
class NoMoreDescriptors {
public:
    NoMoreDescriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const int lowest_free = ::dup(0);
        ::close(lowest_free);
        const rlimit none{static_cast<rlim_t>(lowest_free), before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    ~NoMoreDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    NoMoreDescriptors(const NoMoreDescriptors&) = delete;
    NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

private:
    rlimit before_{};
};

/// Flushes that are scheduled meanwhile begin after `time`, less than stays_refused() takes.
void occupy_flush_thread(std::chrono::milliseconds time) {
    static std::chrono::milliseconds asleep;
    asleep = time;
    rocksdb::Env::Default()->Schedule([](void*) { std::this_thread::sleep_for(asleep); }, nullptr,
                                      rocksdb::Env::Priority::HIGH);
}

std::size_t messages_of_filler(EdgeFixture& f) {
    DrainCursor cursor{.topics = true, .after = -1, .until = core::Offset{1} << 40};
    const auto read =
        f.part().read_pending(uaid_of("filler"), cursor, kMost, at(100), [](const auto&) {});
    return read.messages;
}

}  // namespace

TEST_CASE("a store on a full disk refuses commits by that name, and goes on when there is space") {
    const auto full = GENERATE(values<std::string>({".log", ".sst", ""}));
    CAPTURE(full);
    FaultyDisk disk;
    EdgeFixture f{options_on(disk)};
    f.put(1, "m1");
    f.part().put_client({.uaid = f.uaid, .stamp = core::WriteStamp{1, 1}});
    f.part().advance(Source::notifications, 2, at(2));
    f.commit();

    disk.fill(full);
    core::Result<void> refusal;
    const auto written = write_until_refused(f, refusal);
    REQUIRE(written < kMost);
    REQUIRE_FALSE(refusal);
    CHECK(refusal.error().fault == core::Fault::full);
    CHECK(was_struck(disk));  // perhaps after the buffers were full
    for (int i = 0; i < 3; ++i) {
        const auto again = f.part().commit();
        REQUIRE_FALSE(again);
        CHECK(again.error().fault == core::Fault::full);
    }
    CHECK(f.part().dirty());
    CHECK(f.part().client(f.uaid));  // nothing is denied meanwhile
    CHECK(f.drain() == "m1");

    disk.heal();
    f.commit();
    CHECK_FALSE(f.part().dirty());
    f.put(50'000, "m2");
    f.part().advance(Source::notifications, 50'001, at(3));
    f.commit();
    f.reopen();
    CHECK(f.part().checkpoint(Source::notifications)->next == 50'001);
    CHECK(f.drain() == "m1 m2");
    CHECK(messages_of_filler(f) == static_cast<std::size_t>(written) + 1);
}

// A store that asked RocksDB to go on without descriptors could never write again, and one whose
// flush had not begun when the descriptors ended waited for it for ever.
TEST_CASE("a store without file descriptors refuses commits, and goes on when there are some") {
    const auto flush_begins_after =
        GENERATE(std::chrono::milliseconds{0}, std::chrono::milliseconds{100});
    CAPTURE(flush_begins_after.count());
    EdgeStoreOptions small;
    small.write_buffer_bytes = 1U << 20;
    EdgeFixture f{small};
    occupy_flush_thread(flush_begins_after);
    f.put(1, "m1");
    f.commit();

    core::Result<void> refusal;
    int written = 0;
    {
        const NoMoreDescriptors none;
        written = write_until_refused(f, refusal);
        REQUIRE(written < kMost);
        CHECK(stays_refused(f));
        CHECK(f.part().commit().error().message.find("file descriptors") != std::string::npos);
        CHECK(f.store().needs_restart().empty());
    }
    f.commit();
    f.put(50'000, "m2");
    f.part().advance(Source::notifications, 50'001, at(3));
    f.commit();
    f.reopen();
    CHECK(f.drain() == "m1 m2");
    CHECK(messages_of_filler(f) == static_cast<std::size_t>(written) + 1);
}

// RocksDB keeps the write-ahead file that failed if it finds nothing in memory to write out, and
// would end the process with the next write.
TEST_CASE("a disk that is full when nothing is in memory ends no process") {
    FaultyDisk disk;
    EdgeFixture f{options_on(disk)};
    f.put(1, "m1");
    f.commit();
    f.reopen();  // what was in memory is in tables
    for (int round = 0; round < 3; ++round) {
        CAPTURE(round);
        const auto name = "n" + std::to_string(round);
        f.put(10 + round, name);
        disk.fill(".log");
        for (int i = 0; i < 3; ++i) {
            const auto refused = f.part().commit();
            REQUIRE_FALSE(refused);
            CHECK(refused.error().fault == core::Fault::full);
        }
        disk.heal();
        f.commit();
        f.reopen();
        CHECK(f.drain().ends_with(name));
    }
    CHECK(f.drain() == "m1 n0 n1 n2");
}

TEST_CASE("shards that share a store recover one after the other from a full disk") {
    constexpr int kShards = 4;
    constexpr int kRounds = 40;
    constexpr core::Offset kPuts = 50;
    FaultyDisk disk;
    EdgeFixture f{options_on(disk)};
    std::atomic<int> round = 0;
    std::atomic<int> done = 0;
    const auto shard = [&](core::Partition partition) {
        const auto part = f.store().open_partition(partition);
        for (core::Offset offset = 0; offset < kPuts || round < kRounds; ++offset) {
            const auto name = "m" + std::to_string(offset);
            part->put(offset, at(offset), accepted(f.uaid, name), nullptr);
            part->advance(Source::notifications, offset + 1, std::nullopt);
            while (!part->commit()) std::this_thread::yield();
        }
        ++done;
    };
    std::vector<std::thread> shards;
    for (int i = 0; i < kShards; ++i)
        shards.emplace_back(shard, static_cast<core::Partition>(10 + i));
    for (; round < kRounds; ++round) {
        const auto before = disk.struck();
        disk.fill(".log");
        while (disk.struck() < before + 2) std::this_thread::yield();
        disk.heal();
        std::this_thread::yield();
    }
    for (auto& thread : shards) thread.join();
    CHECK(done == kShards);
    f.reopen();
    for (int i = 0; i < kShards; ++i) {
        const auto part = f.store().open_partition(static_cast<core::Partition>(10 + i));
        REQUIRE(part->checkpoint(Source::notifications));
        CHECK(part->checkpoint(Source::notifications)->next >= kPuts);
    }
}

TEST_CASE(
    "a table whose sync hangs stops no reader and no loop: beyond the buffers commits are "
    "refused") {
    FaultyDisk disk;
    EdgeFixture f{options_on(disk)};
    f.put(1, "m1");
    f.commit();
    disk.hang(Call::sync, ".sst");
    core::Result<void> refusal;
    auto written = write_until_refused(f, refusal);
    CHECK(was_struck(disk));
    // A refusal may pass, for as long as buffers are left.
    while (written < kMost && !stays_refused(f)) {
        written = write_until_refused(f, refusal, written + 1);
    }
    REQUIRE(written < kMost);
    REQUIRE_FALSE(refusal);
    CHECK(refusal.error().fault == core::Fault::full);
    CHECK(f.drain() == "m1");

    disk.heal();
    f.commit();
    f.put(50'000, "m2");
    f.commit();
    f.reopen();
    CHECK(f.drain() == "m1 m2");
}
