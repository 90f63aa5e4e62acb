#include "core/time_text.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace beckon::core {

namespace {

/// `format`: of strftime(3).
std::string in_utc(Timestamp time, const char* format) {
    const std::time_t since_epoch =
        std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
    std::tm utc{};
    gmtime_r(&since_epoch, &utc);
    std::array<char, 64> text{};
    return {text.data(), std::strftime(text.data(), text.size(), format, &utc)};
}

}  // namespace

std::string time_text(Timestamp time) {
    const auto whole = std::chrono::floor<std::chrono::seconds>(time);
    std::array<char, 8> fraction{};
    std::snprintf(fraction.data(), fraction.size(), ".%03dZ",
                  static_cast<int>((time - whole).count()));
    return in_utc(time, "%Y-%m-%dT%H:%M:%S") + fraction.data();
}

std::string time_text_in_seconds(Timestamp time) { return in_utc(time, "%Y-%m-%dT%H:%M:%SZ"); }

std::string http_date(Timestamp time) { return in_utc(time, "%a, %d %b %Y %H:%M:%S GMT"); }

std::string_view http_date_now() {
    thread_local Timestamp made{};
    thread_local std::string text;
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    if (text.empty() || made != now) {
        made = now;
        text = http_date(made);
    }
    return text;
}

}  // namespace beckon::core
