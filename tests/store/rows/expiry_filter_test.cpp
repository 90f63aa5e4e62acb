#include "store/rows/expiry_filter.hpp"

#include "core/time_guard.hpp"
#include "store/database.hpp"
#include "store/edge_fixture.hpp"
#include "store/rows/schema.hpp"
#include "support/manual_clock.hpp"

#include <map>
#include <memory>
#include <string>

#include <catch2/catch.hpp>
#include <rocksdb/db.h>

using namespace beckon;
using namespace beckon::store;

using namespace beckon::store::test;

namespace {

/// One family with rows of several partitions, compacted on demand.
struct Rows {
    Rows() {
        DatabaseOptions options;
        options.directory = dir / "db";
        options.log_id = "log-1";
        options.format = "test/1";
        options.families = {{"keys", FamilyKind::keys}};
        auto opened = Database::open(options);
        if (!opened) throw std::runtime_error(opened.error().message);
        database = std::move(*opened);
        family = database->family("keys");
    }
    void put(core::Partition partition, std::string_view name, KeyRow::State state,
             std::int64_t until_s) {
        std::string value;
        append_key_row(value, {.state = state, .offset = 1, .until = at(until_s), .slot = {}});
        rocksdb::WriteBatch batch;
        batch.Put(family.get(), slice(key_row_key(partition, uaid_of("u"), key_of(name)).view()),
                  slice(value));
        REQUIRE(database->write(batch));
    }
    void compact() {
        rocksdb::CompactRangeOptions options;
        options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
        REQUIRE(database->db().CompactRange(options, family.get(), nullptr, nullptr).ok());
    }
    std::string names() {
        std::string text;
        const std::unique_ptr<rocksdb::Iterator> it{database->db().NewIterator({}, family.get())};
        for (it->SeekToFirst(); it->Valid(); it->Next()) {
            text += text.empty() ? "" : " ";
            text += name_of(id_of_row(view(it->key())));
        }
        return text;
    }

    beckon::test::TempDir dir;
    std::unique_ptr<Database> database;
    Family family;
};

}  // namespace

TEST_CASE("compaction takes rows whose time is over by an hour of their partition's fold") {
    using enum KeyRow::State;
    Rows r;
    r.put(1, "expired", pending, 100);
    r.put(1, "later", pending, 101);
    r.put(1, "tombstone", done, 100);
    r.put(2, "behind", pending, 100);
    r.compact();
    CHECK(r.names() == "expired later tombstone behind");  // no fold time is known yet
    r.database->fold_times().set(1, at(100 + 3600));
    r.database->fold_times().set(2, at(99 + 3600));
    r.compact();
    CHECK(r.names() == "later behind");
}

TEST_CASE("fold times follow the log, also back, and begin anew with their partition") {
    const core::SystemClock host;
    FoldTimes times{host};
    constexpr std::chrono::hours kMargin = core::kDestructionMargin;
    times.set(3, at(10'000));
    CHECK(times.certainly_past(3) == at(10'000) - kMargin);
    times.set(3, at(5'000));  // one broker's clock was ahead for a moment
    CHECK(times.certainly_past(3) == at(5'000) - kMargin);
    CHECK(times.certainly_past(4) == core::Timestamp{} - kMargin);
    times.forget(3);
    CHECK(times.certainly_past(3) == core::Timestamp{} - kMargin);
}

TEST_CASE("compaction takes nothing that the host's clock does not know to be over") {
    beckon::test::ManualClock host;
    const auto times = std::make_shared<FoldTimes>(host);
    const auto filter =
        make_expiry_filter(times)->CreateCompactionFilter(rocksdb::CompactionFilter::Context{});
    const auto expiry = host.wall() + std::chrono::hours{2};
    std::string value;
    append_key_row(value,
                   {.state = KeyRow::State::pending, .offset = 1, .until = expiry, .slot = {}});
    const auto key = key_row_key(1, uaid_of("u"), key_of("k"));
    const auto taken = [&] {
        bool changed = false;
        std::string replacement;
        return filter->Filter(0, slice(key.view()), slice(value), &replacement, &changed);
    };
    times->set(1, expiry + std::chrono::hours{24 * 365});  // a broker's clock has stepped forward
    CHECK_FALSE(taken());
    host.advance(std::chrono::hours{3} - std::chrono::seconds{1});
    CHECK_FALSE(taken());
    host.advance(std::chrono::seconds{1});
    CHECK(taken());
    times->set(1, expiry);  // and the other way round
    CHECK_FALSE(taken());
}

TEST_CASE("a pending tombstone, a living client and a checkpoint are never taken by compaction") {
    Rows r;
    std::map<std::string, std::string> values;
    append_pending_tombstone(values["tombstone"], {.uaid = {}, .key = {}});
    append_client_row(values["client"], {.live = StoredClient{}, .stamp = {}, .until = {}});
    append_checkpoint(values["checkpoint"], {});
    for (const auto& [name, value] : values) {
        rocksdb::WriteBatch batch;
        batch.Put(r.family.get(), slice(key_row_key(1, uaid_of("u"), key_of(name)).view()),
                  slice(value));
        REQUIRE(r.database->write(batch));
    }
    r.database->fold_times().set(1, at(1'000'000'000));
    r.compact();
    CHECK(r.names() == "checkpoint client tombstone");
}
