#include "store/rows/month.hpp"

#include <chrono>
#include <cstdio>

namespace beckon::store {

namespace {

constexpr std::string_view kMonthFamilyPrefix = "messages.";

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
    const std::string digits{name.substr(kMonthFamilyPrefix.size())};
    if (digits == "all") return kEveryMonth;
    int year = 0;
    int month = 0;
    unsigned day = 0;
    // With widths, since a number beyond an int is undefined; other ways to write a date are
    // refused below.
    const int found = std::sscanf(digits.c_str(), "%5d_%2d_%2u", &year, &month, &day);
    if (found < 2 || month < 1 || month > 12) return std::nullopt;
    if (found == 2) {
        const Month number = year * 12 + month - 1;
        return month_family_name(number) == name ? std::optional{number} : std::nullopt;
    }
    const std::chrono::year_month_day date{std::chrono::year{year},
                                           std::chrono::month{static_cast<unsigned>(month)},
                                           std::chrono::day{day}};
    if (!date.ok()) return std::nullopt;
    const auto number = static_cast<Month>(std::chrono::sys_days{date}.time_since_epoch().count());
    return day_family_name(number) == name ? std::optional{number} : std::nullopt;
}

}  // namespace beckon::store
