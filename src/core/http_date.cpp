#include "core/http_date.hpp"

#include <array>
#include <chrono>
#include <ctime>

namespace beckon::core {

std::string http_date(Timestamp time) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(
        std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    std::array<char, 40> text;
    const auto size = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &utc);
    return {text.data(), size};
}

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
