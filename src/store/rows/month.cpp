#include "store/rows/month.hpp"

#include <chrono>
#include <cstdio>

namespace beckon::store {

namespace {

constexpr std::string_view kMonthFamilyPrefix = "messages.";

/// A number that is written in digits alone; four at most, so that it fits.
std::optional<int> parse_digits(std::string_view text) {
    int number = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9') return std::nullopt;
        number = number * 10 + (digit - '0');
    }
    return number;
}

}  // namespace

Month month_of(core::Timestamp time) {
    const std::chrono::year_month_day date{std::chrono::floor<std::chrono::days>(time)};
    return static_cast<int>(date.year()) * 12 + static_cast<int>(unsigned{date.month()}) - 1;
}

core::Timestamp month_end(Month month) {
    const int next = month + 1;
    const std::chrono::year_month_day first{
        std::chrono::year{next / 12}, std::chrono::month{static_cast<unsigned>(next % 12 + 1)},
        std::chrono::day{1}};
    return core::Timestamp{std::chrono::sys_days{first}};
}

std::string month_family_name(Month month) {
    if (month == kEveryMonth) return std::string{kMonthFamilyPrefix} + "all";
    char text[32];
    std::snprintf(text, sizeof text, "%04d_%02d", month / 12, month % 12 + 1);
    return std::string{kMonthFamilyPrefix} + text;
}

Month day_of(core::Timestamp time) {
    return static_cast<int>(std::chrono::floor<std::chrono::days>(time).time_since_epoch().count());
}

std::string day_family_name(Month day) {
    if (day == kEveryMonth) return month_family_name(kEveryMonth);
    const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
    char text[48];
    std::snprintf(text, sizeof text, "%04d_%02u_%02u", static_cast<int>(date.year()),
                  unsigned{date.month()}, unsigned{date.day()});
    return std::string{kMonthFamilyPrefix} + text;
}

std::optional<Month> parse_message_family_name(std::string_view name) {
    if (!name.starts_with(kMonthFamilyPrefix)) return std::nullopt;
    const auto date = name.substr(kMonthFamilyPrefix.size());
    if (date == "all") return kEveryMonth;
    const bool daily = date.size() == 10 && date[7] == '_';
    if (!daily && date.size() != 7) return std::nullopt;
    const auto year = parse_digits(date.substr(0, 4));
    const auto month = parse_digits(date.substr(5, 2));
    if (!year || !month || date[4] != '_' || *month < 1 || *month > 12) return std::nullopt;
    if (!daily) {
        const Month number = *year * 12 + *month - 1;
        return number == kEveryMonth ? std::nullopt : std::optional{number};
    }
    const auto day = parse_digits(date.substr(8));
    if (!day) return std::nullopt;
    const std::chrono::year_month_day found{std::chrono::year{*year},
                                            std::chrono::month{static_cast<unsigned>(*month)},
                                            std::chrono::day{static_cast<unsigned>(*day)}};
    if (!found.ok()) return std::nullopt;
    const auto number = static_cast<Month>(std::chrono::sys_days{found}.time_since_epoch().count());
    return number == kEveryMonth ? std::nullopt : std::optional{number};
}

}  // namespace beckon::store
