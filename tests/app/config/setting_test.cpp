#include "app/config/setting.hpp"

#include "app/config/config.hpp"

#include <catch2/catch.hpp>

using namespace beckon::app;
using namespace std::chrono_literals;

namespace {

std::string set(const Setting& setting, const char* text) {
    const auto done = setting.set(text);
    return done ? setting.get() : "refused";
}

}  // namespace

TEST_CASE("durations and sizes have units, and anything else is refused") {
    CHECK(parse_duration("300ms").value() == 300ms);
    CHECK(parse_duration("2min").value() == 120s);
    CHECK(parse_duration("7d").value() == 168h);
    for (const char* bad : {"5", "", "s", "-1s", "1.5s", "99999999999999999999s", "1y"}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_duration(bad).has_value());
    }
    CHECK(parse_bytes("64MiB").value() == 64U << 20);
    CHECK(parse_bytes("5630").value() == 5630);
    CHECK_FALSE(parse_bytes("64 MB").has_value());
    CHECK(duration_text(90s) == "90s");
    CHECK(duration_text(1h) == "1h");
    CHECK(bytes_text(128U << 20) == "128MiB");
}

TEST_CASE("every setting takes back the text that it shows") {
    Config config;
    for (const auto& setting : settings_of(config)) {
        CAPTURE(setting.name);
        const auto text = setting.get();
        CHECK(setting.set(text).has_value());
        CHECK(setting.get() == text);
        CHECK(setting.help.empty() == setting.for_tests);
        CHECK_FALSE(setting.allowed.empty());
    }
}

TEST_CASE("a bool takes only true and false") {
    bool value = false;
    const auto one = setting("x", value, "help");
    CHECK(set(one, "true") == "true");
    CHECK(set(one, "1") == "refused");
    CHECK(set(one, "yes") == "refused");
}
