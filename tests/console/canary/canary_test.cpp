#include "console/canary/canary.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::console;
using namespace std::chrono_literals;

namespace {

/// Nobody listens there, so each push fails at once and is told at once.
std::vector<std::string> edges() {
    std::vector<std::string> urls;
    for (int port = 1; port <= 8; ++port) {
        urls.push_back("ws://127.0.0.1:" + std::to_string(port) + "/");
    }
    return urls;
}

}  // namespace

// What goes wrong here is a race: ThreadSanitizer and AddressSanitizer see it.
TEST_CASE("a canary ends while its edges tell what they found", "[console]") {
    const core::SystemClock clock;
    LivePages pages;
    LivePages::Seen seen;
    for (int i = 0; i < 20; ++i) {
        const Canary canary{{.targets = edges(), .every = 0ms, .timeout = 1s}, clock, pages};
        CHECK_FALSE(pages.changes({"canary"}, seen, 5s).empty());
    }
    const auto page = nlohmann::json::parse(*pages.get("canary"));
    CHECK(page["edges"].size() == 8);
}
