#include "console/canary/canary.hpp"

#include "core/logger.hpp"
#include "support/captured_output.hpp"

#include <semaphore>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::console;
using namespace std::chrono_literals;

namespace {

/// As a cluster names its edges: nobody listens at any of these.
std::vector<std::string> nowhere(std::size_t count) {
    std::vector<std::string> out;
    while (out.size() < count) out.push_back("127.0.1." + std::to_string(out.size() + 1) + ":2");
    return out;
}

/// Nobody listens there, so each push fails at once and is published at once.
std::vector<std::string> edges() {
    std::vector<std::string> urls;
    for (int port = 1; port <= 8; ++port) {
        urls.push_back("ws://127.0.0.1:" + std::to_string(port) + "/");
    }
    return urls;
}

}  // namespace

TEST_CASE("the page shows how many edges beyond the bound are not tried, until there are fewer") {
    constexpr std::size_t kTooMany = 3;
    const core::SystemClock clock;
    LivePages pages;
    ops::Metrics metrics;
    Canary canary{{.targets = {"ws://*:1/"}}, clock, pages, metrics};
    const auto shows = [&](std::size_t tried, std::size_t untried) {
        const auto page = nlohmann::json::parse(*pages.get("canary"));
        CHECK(page["edges"].size() == tried);
        CHECK(page["untried"] == untried);
    };
    canary.use_edges(nowhere(Canary::kEdgesMax + kTooMany));
    shows(Canary::kEdgesMax, kTooMany);
    canary.use_edges(nowhere(Canary::kEdgesMax - 1));
    shows(Canary::kEdgesMax - 1, 0);
    canary.use_edges(nowhere(Canary::kEdgesMax));
    shows(Canary::kEdgesMax, 0);
}

TEST_CASE("an edge that fails, leaves the cluster and fails again is told once") {
    const core::SystemClock clock;
    LivePages pages;
    ops::Metrics metrics;
    std::counting_semaphore<> published{0};
    pages.on_change([&] { published.release(); });
    test::CapturedStream output{stderr, STDERR_FILENO};
    core::configure_logging(core::LogLevel::info, core::LogFormat::json);
    {
        Canary canary{{.targets = {"ws://*:1/"}, .every = 1ms}, clock, pages, metrics};
        const auto fails = [&] {
            const auto edges = canary.facts()->edges;
            return edges.size() == 1 && edges.front().state == CanaryFacts::State::failing;
        };
        for (int round = 0; round < 2; ++round) {
            canary.use_edges(nowhere(1));
            while (!fails()) REQUIRE(published.try_acquire_for(5s));
            canary.use_edges({});
        }
    }
    core::configure_logging(core::LogLevel::error, core::LogFormat::text);
    pages.on_change(nullptr);
    const auto& text = output.finish();
    const auto first = text.find("canary_fails");
    CHECK(first != std::string::npos);
    CHECK(text.find("canary_fails", first + 1) == std::string::npos);
}

// A fault here is a race: ThreadSanitizer and AddressSanitizer see it.
TEST_CASE("a canary ends while its edges report results") {
    const core::SystemClock clock;
    LivePages pages;
    std::counting_semaphore<> published{0};
    pages.on_change([&] { published.release(); });
    for (int i = 0; i < 20; ++i) {
        while (published.try_acquire()) {
        }
        ops::Metrics metrics;
        const Canary canary{
            {.targets = edges(), .every = 0ms, .timeout = 1s}, clock, pages, metrics};
        CHECK(published.try_acquire_for(5s));
    }
    pages.on_change(nullptr);
    const auto page = nlohmann::json::parse(*pages.get("canary"));
    CHECK(page["edges"].size() == 8);
}
