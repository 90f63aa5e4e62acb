#include "store/tables/row_changes.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::store;

namespace {

using Rows = RowChanges<int, int>;

bool knows(const Rows& rows, int name) { return rows.find(name) != nullptr; }

}  // namespace

TEST_CASE("of the rows that were written a bounded number stays known, the newest ones") {
    Rows rows;
    int known = 0;
    for (int i = 0; i < 10'000; ++i) {
        rows.put(i, i, false);
        if (i % 7 == 6) rows.committed();
    }
    rows.committed();
    for (int i = 0; i < 10'000; ++i) known += knows(rows, i) ? 1 : 0;
    CHECK(known <= 2 * 1'024);
    CHECK(knows(rows, 9'999));
    CHECK(knows(rows, 9'999 - 1'000));
    CHECK_FALSE(knows(rows, 0));

    Rows large;
    for (int i = 0; i < 10'000; ++i) large.put(i, i, false);
    large.committed();
    known = 0;
    for (int i = 0; i < 10'000; ++i) known += knows(large, i) ? 1 : 0;
    CHECK(known == 1'024);
}

TEST_CASE("a row that was written is known as it stands in the table") {
    Rows rows;
    rows.put(1, 10, false);
    rows.put(2, 20, false);
    rows.committed();
    REQUIRE(knows(rows, 1));
    CHECK(*rows.find(1)->row == 10);
    CHECK_FALSE(rows.changed(1));

    SECTION("it is deleted, and known no longer") {
        rows.erase(1);
        CHECK(rows.size() == 1);
        REQUIRE(knows(rows, 1));
        CHECK_FALSE(rows.find(1)->row);
        rows.committed();
        CHECK_FALSE(knows(rows, 1));
    }
    SECTION("it is written over") {
        rows.put(1, 11, true);
        CHECK(*rows.find(1)->row == 11);
        rows.committed();
        CHECK(*rows.find(1)->row == 11);
    }
    SECTION("nothing is known after a reset") {
        rows.put(2, 21, true);
        rows.reset();
        CHECK_FALSE(knows(rows, 1));
        CHECK_FALSE(knows(rows, 2));
    }
}
