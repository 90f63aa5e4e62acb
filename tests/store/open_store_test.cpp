#include "store/edge_fixture.hpp"
#include "store/edge_store.hpp"
#include "support/captured_output.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace beckon;
using namespace beckon::store;

using namespace beckon::store::test;
namespace fs = std::filesystem;

TEST_CASE("a store of another log is set aside and made anew") {
    EdgeFixture f;
    f.put(1, "m1");
    f.part().advance(Source::notifications, 2, at(1));
    f.commit();
    f.close();
    f.options().log_id = "log-2";
    f.open();
    CHECK(f.drain().empty());
    CHECK_FALSE(f.part().checkpoint(Source::notifications));
    CHECK(fs::exists(f.dir() / "edge.set-aside-1" / "CURRENT"));

    f.put(1, "m2");
    f.commit();
    f.reopen();  // the same log: nothing moves
    CHECK(f.drain() == "m2");
    CHECK_FALSE(fs::exists(f.dir() / "edge.set-aside-2"));

    f.close();
    f.options().log_id = "log-1";
    f.open();
    CHECK(f.drain().empty());
    CHECK(fs::exists(f.dir() / "edge.set-aside-2" / "CURRENT"));
}

TEST_CASE("a store of another layout is set aside and made anew") {
    EdgeFixture f;
    f.put(1, "m1");
    f.commit();
    f.close();
    f.options().rotation = Rotation::off;
    f.open();
    CHECK(f.drain().empty());
    CHECK(fs::exists(f.dir() / "edge.set-aside-1"));
}

TEST_CASE("a directory in use is a conflict, and stays as it is") {
    EdgeFixture f;
    f.put(1, "m1");
    f.commit();
    const auto directory = f.options().directory.string();

    SECTION("by this process") {
        const auto again = EdgeStore::open(f.options());
        REQUIRE_FALSE(again);
        CHECK(again.error().fault == core::Fault::conflict);
        CHECK_THAT(again.error().message, Catch::Contains(directory));
    }
    SECTION("by another process") {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            const auto again = EdgeStore::open(f.options());
            _exit(!again && again.error().fault == core::Fault::conflict ? 0 : 1);
        }
        int status = -1;
        REQUIRE(waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
    SECTION("even for another log: it is not pulled away from under its owner") {
        auto options = f.options();
        options.log_id = "log-2";
        const auto again = EdgeStore::open(options);
        REQUIRE_FALSE(again);
        CHECK(again.error().fault == core::Fault::conflict);
        CHECK_FALSE(fs::exists(f.dir() / "edge.set-aside-1"));
    }
    CHECK(f.drain() == "m1");
}

TEST_CASE("a directory that cannot be made or written is unavailable, with its path") {
    const beckon::test::TempDir dir;
    EdgeStoreOptions options;
    options.log_id = "log-1";
    SECTION("a file stands in the way") {
        std::ofstream{dir / "file"} << "x";
        options.directory = dir / "file" / "edge";
    }
    SECTION("the file is the directory") {
        std::ofstream{dir / "edge"} << "x";
        options.directory = dir / "edge";
    }
    SECTION("the file system takes no files") { options.directory = "/proc/beckon-edge"; }
    const auto opened = EdgeStore::open(options);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().fault == core::Fault::unavailable);
    CHECK_THAT(opened.error().message, Catch::Contains(options.directory.string()));
}

namespace {

enum class Damage {
    manifest,
    manifest_cut,
    manifest_gone,
    current,
    current_gone,
    table,
    table_gone
};

/// Does it to all files of a store that begin or end with the name.
void damage(const fs::path& directory, Damage how) {
    const bool tables = how == Damage::table || how == Damage::table_gone;
    const bool of_current = how == Damage::current || how == Damage::current_gone;
    int struck = 0;
    for (const auto& file : fs::directory_iterator{directory}) {
        const auto name = file.path().filename().string();
        if (tables ? !name.ends_with(".sst")
                   : !name.starts_with(of_current ? "CURRENT" : "MANIFEST")) {
            continue;
        }
        ++struck;
        if (how == Damage::manifest_gone || how == Damage::current_gone ||
            how == Damage::table_gone) {
            fs::remove(file);
        } else if (how == Damage::manifest_cut) {
            fs::resize_file(file, fs::file_size(file) - 3);
        } else {
            std::ofstream{file.path(), std::ios::trunc} << "these are not its bytes";
        }
    }
    REQUIRE(struck > 0);
}

}  // namespace

TEST_CASE("a store whose files are damaged is set aside, and the log says why") {
    const auto how =
        GENERATE(Damage::manifest, Damage::manifest_cut, Damage::manifest_gone, Damage::current,
                 Damage::current_gone, Damage::table, Damage::table_gone);
    CAPTURE(static_cast<int>(how));
    EdgeFixture f;
    f.put(1, "m1");
    f.part().advance(Source::notifications, 2, at(1));
    f.commit();
    f.reopen();  // what was in the write-ahead file is in tables now
    f.close();
    damage(f.options().directory, how);
    beckon::test::CapturedOutput output;
    f.open();
    CHECK_THAT(output.finish(), Catch::Contains("set_aside") && Catch::Contains("damaged: "));
    CHECK(fs::exists(f.dir() / "edge.set-aside-1" / "LOCK"));
    CHECK(f.drain().empty());
    CHECK_FALSE(f.part().checkpoint(Source::notifications));

    // It is folded anew, and stays.
    f.put(1, "m1");
    f.commit();
    f.reopen();
    CHECK(f.drain() == "m1");
    CHECK_FALSE(fs::exists(f.dir() / "edge.set-aside-2"));
}

TEST_CASE("a store that looks damaged and is in use stays where it is") {
    EdgeFixture f;
    f.put(1, "m1");
    f.commit();
    damage(f.options().directory, Damage::manifest);
    const auto again = EdgeStore::open(f.options());
    REQUIRE_FALSE(again);
    CHECK(again.error().fault == core::Fault::conflict);
    CHECK(f.drain() == "m1");
    CHECK_FALSE(fs::exists(f.dir() / "edge.set-aside-1"));
}

TEST_CASE("of the stores that were set aside the newest two stay") {
    EdgeFixture f;
    for (int i = 1; i <= 4; ++i) {
        f.close();
        damage(f.options().directory, Damage::manifest);
        f.open();
    }
    const auto is_there = [&](int n) {
        return fs::exists(f.dir() / ("edge.set-aside-" + std::to_string(n)));
    };
    CHECK_FALSE(is_there(1));
    CHECK_FALSE(is_there(2));
    CHECK(is_there(3));
    CHECK(is_there(4));
    beckon::test::CapturedOutput output;
    f.close();
    damage(f.options().directory, Damage::manifest);
    f.open();
    CHECK_THAT(output.finish(), Catch::Contains("removed") && Catch::Contains("edge.set-aside-3"));
}
