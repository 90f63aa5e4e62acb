#include "app/command/progress.hpp"

#include <chrono>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using app::Progress;

namespace {

struct Screen {
    Progress::Output output(bool terminal) {
        return {.now = [this] { return now; },
                .write = [this](std::string_view text) { written += text; },
                .terminal = terminal};
    }
    core::MonoTime now{};
    std::string written;
};

}  // namespace

TEST_CASE("on a terminal one line is drawn again, and removed at the end") {
    Screen screen;
    {
        Progress progress{"importing", "bytes", 2'000'000, screen.output(true)};
        progress.at(10);
        CHECK(screen.written.empty());  // most work is over in a moment
        screen.now += 2s;
        progress.at(500'000);
        CHECK(screen.written ==
              "\r\033[Kimporting: [#######.......................] 25 %, 500,000 of 2,000,000 "
              "bytes, 7 s left");
        screen.written.clear();
        screen.now += 100ms;
        progress.at(600'000);
        CHECK(screen.written.empty());
    }
    CHECK(screen.written == "\r\033[K");
}

TEST_CASE("elsewhere a line comes every ten seconds") {
    Screen screen;
    {
        Progress progress{"verifying", "rows", 1'000, screen.output(false)};
        for (int i = 0; i < 25; ++i) {
            screen.now += 1s;
            progress.at(static_cast<std::uint64_t>(i) * 10);
        }
    }
    CHECK(screen.written ==
          "verifying: 9 %, 90 of 1,000 rows, 102 s left\n"
          "verifying: 19 %, 190 of 1,000 rows, 86 s left\n");
}

TEST_CASE("without a total the number alone is shown, and long times in minutes") {
    Screen screen;
    Progress open{"reading", "records", 0, screen.output(false)};
    Progress long_one{"reading", "records", 1'000, screen.output(false)};
    screen.now += 60s;
    open.at(1'234'567);
    long_one.at(100);
    CHECK(screen.written ==
          "reading: 1,234,567 records\n"
          "reading: 10 %, 100 of 1,000 records, 10 min left\n");
}
