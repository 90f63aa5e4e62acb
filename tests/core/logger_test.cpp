#include "core/logger.hpp"

#include "support/captured_output.hpp"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>
#include <unistd.h>

using namespace beckon;

TEST_CASE("of lines about one of many ten a minute are written") {
    test::CapturedStream output{stderr, STDERR_FILENO};
    core::configure_logging(core::LogLevel::info, core::LogFormat::json);
    for (int i = 0; i < 1'000; ++i) {
        core::log_sparsely(core::LogLevel::warn, "core", "one_of_many", {{"number", i}});
    }
    core::log_sparsely(core::LogLevel::warn, "core", "another_event", {});
    core::configure_logging(core::LogLevel::error, core::LogFormat::text);
    const auto& text = output.finish();
    CHECK(std::count(text.begin(), text.end(), '\n') == core::kSparseLines + 1);
    CHECK(text.find(R"("number":9)") != std::string::npos);
    CHECK(text.find(R"("number":10)") == std::string::npos);
    CHECK(text.find("another_event") != std::string::npos);
}
