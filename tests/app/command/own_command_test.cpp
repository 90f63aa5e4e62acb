#include "app/command/output.hpp"
#include "support/temp_dir.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

using namespace beckon;
namespace fs = std::filesystem;

TEST_CASE("the command that runs the binary again") {
    const test::TempDir place;
    const fs::path root = place.path();
    for (const auto* directory : {"build/release", "usr/bin", "other"}) {
        fs::create_directories(root / directory);
    }
    for (const auto* file : {"build/release/beckon", "usr/bin/beckon"}) {
        std::ofstream{root / file} << "binary";
    }
    const auto path = (root / "other").string() + ":" + (root / "usr/bin").string();

    SECTION("in a checkout: its path from there, whatever is installed") {
        CHECK(app::command_for(root / "build/release/beckon", root, path) ==
              "build/release/beckon");
        CHECK(app::command_for(root / "build/release/beckon", root / "build/release", path) ==
              "./beckon");
    }
    SECTION("installed: its name") {
        CHECK(app::command_for(root / "usr/bin/beckon", root, path) == "beckon");
    }
    SECTION("elsewhere: its whole path") {
        CHECK(app::command_for(root / "build/release/beckon", root / "other", path) ==
              (root / "build/release/beckon").string());
        CHECK(app::command_for(root / "usr/bin/beckon", root / "other", "") ==
              (root / "usr/bin/beckon").string());
    }
}
