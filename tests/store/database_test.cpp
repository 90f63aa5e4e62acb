#include "store/database.hpp"

#include "store/edge_fixture.hpp"
#include "store/rows/row_key.hpp"

#include <string>

#include <catch2/catch.hpp>
#include <rocksdb/db.h>

using namespace beckon;
using namespace beckon::store;

using namespace beckon::store::test;

TEST_CASE("rows of a partition are erased, and no deletion is written where there are none") {
    beckon::test::TempDir dir;
    DatabaseOptions options;
    options.directory = dir / "db";
    options.log_id = "log-1";
    options.format = "test/1";
    options.families = {{"keys", FamilyKind::keys}};
    const auto opened = Database::open(options);
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
