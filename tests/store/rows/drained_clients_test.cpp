#include "store/rows/drained_clients.hpp"

#include "store/rows/row_key.hpp"

#include <memory>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

using namespace beckon;
using store::kDrainedRows;

namespace {

/// The rows of a file, in the order of their keys.
class File {
public:
    void add(int client, int row, rocksdb::EntryType type) {
        auto key = std::to_string(100'000 + client);
        key.resize(store::kPrefixBytes, '.');
        key += std::to_string(100'000 + row);
        REQUIRE(rows_->AddUserKey(key, "", type, 1, 0).ok());
    }
    bool marked() const { return rows_->NeedCompact(); }

private:
    std::unique_ptr<rocksdb::TablePropertiesCollector> rows_{
        store::marks_drained_clients()->CreateTablePropertiesCollector({})};
};

}  // namespace

TEST_CASE("a file in which a client was drained is marked for compaction") {
    File file;
    file.add(1, 0, rocksdb::kEntryPut);
    for (int row = 0; row < kDrainedRows - 1; ++row) file.add(2, row, rocksdb::kEntryDelete);
    CHECK_FALSE(file.marked());
    file.add(2, kDrainedRows, rocksdb::kEntryDelete);
    CHECK(file.marked());
    file.add(3, 0, rocksdb::kEntryPut);
    CHECK(file.marked());
}

TEST_CASE("acks of many clients mark no file") {
    File file;
    for (int client = 0; client < 1'000; ++client) {
        for (int row = 0; row < 20; ++row) file.add(client, row, rocksdb::kEntryDelete);
    }
    CHECK_FALSE(file.marked());
}

TEST_CASE("a client of which as much is there as was deleted marks no file") {
    File file;
    for (int row = 0; row < 3 * kDrainedRows; row += 2) {
        file.add(1, row, rocksdb::kEntryDelete);
        file.add(1, row + 1, rocksdb::kEntryPut);
    }
    CHECK_FALSE(file.marked());
}
