#include "store/expiry_filter.hpp"

#include "store/database.hpp"
#include "store/edge_fixture.hpp"
#include "store/schema.hpp"

#include <map>
#include <string>

#include <catch2/catch.hpp>
#include <rocksdb/db.h>

namespace beckon::store {

using namespace test;

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

TEST_CASE("compaction takes rows whose time is over by an hour of their partition's fold",
          "[store]") {
    using enum KeyRow::State;
    Rows r;
    r.put(1, "expired", pending, 100);
    r.put(1, "later", pending, 101);
    r.put(1, "tombstone", done, 100);
    r.put(2, "behind", pending, 100);
    r.compact();
    CHECK(r.names() == "expired later tombstone behind");  // no fold time is known yet
    r.database->fold_times().raise(1, at(100 + 3600));
    r.database->fold_times().raise(2, at(99 + 3600));
    r.compact();
    CHECK(r.names() == "later behind");
}

TEST_CASE("fold times only rise, until the partition is folded anew", "[store]") {
    FoldTimes times;
    times.raise(3, at(10));
    times.raise(3, at(5));
    CHECK(times.at(3) == at(10));
    CHECK(times.at(4) == core::Timestamp{});
    times.forget(3);
    CHECK(times.at(3) == core::Timestamp{});
}

TEST_CASE("a debt, a living client and a checkpoint are never taken by compaction", "[store]") {
    Rows r;
    std::map<std::string, std::string> values;
    append_debt(values["debt"], {.uaid = {}, .key = {}});
    append_client_row(values["client"], {.live = StoredClient{}, .stamp = {}, .until = {}});
    append_checkpoint(values["checkpoint"], {});
    for (const auto& [name, value] : values) {
        rocksdb::WriteBatch batch;
        batch.Put(r.family.get(), slice(key_row_key(1, uaid_of("u"), key_of(name)).view()),
                  slice(value));
        REQUIRE(r.database->write(batch));
    }
    r.database->fold_times().raise(1, at(1'000'000'000));
    r.compact();
    CHECK(r.names() == "checkpoint client debt");
}

}  // namespace beckon::store
