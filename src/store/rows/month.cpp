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

std::optional<Month> parse_month_family_name(std::string_view name) {
    if (!name.starts_with(kMonthFamilyPrefix)) return std::nullopt;
    int year = 0;
    int month = 0;
    const std::string digits{name.substr(kMonthFamilyPrefix.size())};
    if (digits == "all") return kEveryMonth;
    if (std::sscanf(digits.c_str(), "%d_%d", &year, &month) != 2) return std::nullopt;
    const Month number = year * 12 + month - 1;
    if (month_family_name(number) != name) return std::nullopt;
    return number;
}

}  // namespace beckon::store
