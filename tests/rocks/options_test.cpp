#include "rocks/options.hpp"

#include "core/short_slices.hpp"
#include "support/temp_dir.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <catch2/catch.hpp>
#include <rocksdb/db.h>
#include <sys/resource.h>

using namespace beckon;

namespace {

/// Of the first thread of this process with this name; as kernels call a thread's id.
int niceness_of(std::string_view name) {
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::string its;
        std::getline(std::ifstream{task.path() / "comm"}, its);
        if (!its.starts_with(name)) continue;
        return ::getpriority(PRIO_PROCESS,
                             static_cast<id_t>(std::stoul(task.path().filename().string())));
    }
    FAIL("no thread is called " << name);
    return 0;
}

}  // namespace

TEST_CASE("RocksDB flushes and compacts after others, and only its own threads do", "[rocks]") {
    const auto mine = ::getpriority(PRIO_PROCESS, 0);
    const test::TempDir directory;
    rocksdb::Options options;
    static_cast<rocksdb::DBOptions&>(options) = rocks::db_options(
        {.folder = "test",
         .directory = directory.path(),
         .memory = std::make_shared<rocks::Memory>(std::size_t{8} << 20, std::size_t{1} << 20)});
    rocksdb::DB* opened = nullptr;
    REQUIRE(rocksdb::DB::Open(options, directory.path().string(), &opened).ok());
    const std::unique_ptr<rocksdb::DB> db{opened};
    for (const auto* value : {"1", "2"}) {
        REQUIRE(db->Put({}, "key", value).ok());
        REQUIRE(db->Flush({}).ok());
    }
    REQUIRE(db->CompactRange({}, nullptr, nullptr).ok());

    const auto later = std::min(mine + core::kAfterOthers, 19);
    CHECK(niceness_of("rocksdb:high") == later);
    CHECK(niceness_of("rocksdb:low") == later);
    CHECK(::getpriority(PRIO_PROCESS, 0) == mine);
}
