#include "core/time_text.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace beckon::core {

namespace {

/// Without the `Z` that ends it.
std::string in_seconds(std::chrono::sys_seconds time) {
    const std::time_t since_epoch = time.time_since_epoch().count();
    std::tm utc{};
    gmtime_r(&since_epoch, &utc);
    std::array<char, 64> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc)};
}

}  // namespace

std::string time_text(Timestamp time) {
    const auto whole = std::chrono::floor<std::chrono::seconds>(time);
    std::array<char, 8> fraction{};
    std::snprintf(fraction.data(), fraction.size(), ".%03dZ",
                  static_cast<int>((time - whole).count()));
    return in_seconds(whole) + fraction.data();
}

std::string time_text_in_seconds(Timestamp time) {
    return in_seconds(std::chrono::floor<std::chrono::seconds>(time)) + "Z";
}

}  // namespace beckon::core
