#include "app/command/moment.hpp"

#include "app/exit_codes.hpp"
#include "app/process/process.hpp"
#include "core/decimal.hpp"

#include <chrono>
#include <ctime>
#include <regex>
#include <string>

namespace beckon::app {

namespace {

using core::Timestamp;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// A longer time than the log has been there, in any unit.
constexpr std::int64_t kAgoMax = 10'000'000'000;

std::optional<milliseconds> parse_ago(std::string_view text) {
    if (text.size() < 2) return std::nullopt;
    const auto count = core::parse_decimal<std::int64_t>(text.substr(0, text.size() - 1));
    if (!count || *count < 0 || *count > kAgoMax) return std::nullopt;
    switch (text.back()) {
        case 's': return seconds{*count};
        case 'm': return minutes{*count};
        case 'h': return std::chrono::hours{*count};
        case 'd': return std::chrono::days{*count};
    }
    return std::nullopt;
}

/// The day of a moment, of which `offset` is the zone; none: the host's.
std::tm day_of(Timestamp moment, const std::optional<minutes>& offset) {
    std::tm day{};
    const std::time_t at =
        std::chrono::floor<seconds>(moment.time_since_epoch() + offset.value_or(minutes{0}))
            .count();
    if (offset) {
        gmtime_r(&at, &day);
    } else {
        localtime_r(&at, &day);
    }
    return day;
}

/// A day, a time or both, and a zone.
std::optional<Timestamp> parse_date(const std::string& text, Timestamp now) {
    static const std::regex form{R"((today|yesterday|(\d{4})-(\d\d)-(\d\d))?)"
                                 R"((?:[Tt]? *(\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{3}))?)?)?)"
                                 R"( *(?:(Z|z|UTC)|([+-])(\d\d):?(\d\d)?)?)"};
    enum : std::size_t {
        kDay = 1,
        kYear,
        kMonth,
        kDate,
        kHour,
        kMinute,
        kSecond,
        kFraction,
        kUtc,
        kSign,
        kZoneHours,
        kZoneMinutes
    };
    std::smatch found;
    if (!std::regex_match(text, found, form)) return std::nullopt;
    if (!found[kDay].matched && !found[kHour].matched) return std::nullopt;
    const auto number = [&found](std::size_t part) {
        return found[part].matched ? std::stoi(found[part]) : 0;
    };
    if (number(kHour) > 23 || number(kMinute) > 59 || number(kSecond) > 60 ||
        number(kZoneHours) > 23 || number(kZoneMinutes) > 59) {
        return std::nullopt;
    }
    std::optional<minutes> offset;
    if (found[kUtc].matched) offset = minutes{0};
    if (found[kSign].matched) {
        offset = std::chrono::hours{number(kZoneHours)} + minutes{number(kZoneMinutes)};
        if (found[kSign] == "-") offset = -*offset;
    }
    const bool named = found[kYear].matched;
    auto day = named ? std::tm{} : day_of(now, offset);
    if (named) {
        day.tm_year = number(kYear) - 1900;
        day.tm_mon = number(kMonth) - 1;
        day.tm_mday = number(kDate);
    } else if (found[kDay] == "yesterday") {
        --day.tm_mday;
    }
    const int month = day.tm_mon;
    day.tm_hour = number(kHour);
    day.tm_min = number(kMinute);
    day.tm_sec = number(kSecond);
    day.tm_isdst = -1;
    const auto time = seconds{offset ? timegm(&day) : mktime(&day)} - offset.value_or(minutes{0});
    // 2026-02-30 would become a day of March.
    if (named && day.tm_mon != month) return std::nullopt;
    return Timestamp{time + milliseconds{number(kFraction)}};
}

}  // namespace

std::optional<Timestamp> parse_moment(std::string_view text, Timestamp now) {
    if (text == "now") return now;
    if (text.starts_with('@')) {
        const auto ms = core::parse_decimal<std::int64_t>(text.substr(1));
        return ms ? std::optional{Timestamp{milliseconds{*ms}}} : std::nullopt;
    }
    if (text.starts_with('-')) {
        const auto age = parse_ago(text.substr(1));
        return age ? std::optional{now - *age} : std::nullopt;
    }
    return parse_date(std::string{text}, now);
}

Timestamp moment_of(const std::string& option, const std::string& text) {
    constexpr auto kForms =
        "write 15:00, yesterday 15:00, 2026-11-22, 2026-11-22T10:00:00Z, -15m, -2h, -3d or "
        "@MILLISECONDS; without Z or an offset it is in the host's time zone";
    if (const auto time = parse_moment(text, core::SystemClock{}.wall())) return *time;
    throw StartupError(option + ": '" + text + "' is no time: " + kForms, kWrongOptions);
}

}  // namespace beckon::app
