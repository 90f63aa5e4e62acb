#include "app/command/moment.hpp"

#include "app/exit_codes.hpp"
#include "app/process/process.hpp"
#include "core/decimal.hpp"

#include <chrono>
#include <cstdint>
#include <ctime>

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

/// Takes parts off the front of a text.
class TextReader {
public:
    explicit TextReader(std::string_view text) : rest_(text) {}

    bool at_end() const { return rest_.empty(); }
    bool take(std::string_view word) {
        if (!rest_.starts_with(word)) return false;
        rest_.remove_prefix(word.size());
        return true;
    }
    /// A number of `fewest` to `most` digits that is at most `limit`.
    std::optional<int> number(std::size_t fewest, std::size_t most, int limit) {
        std::size_t digits = 0;
        while (digits < rest_.size() && digits < most && rest_[digits] >= '0' &&
               rest_[digits] <= '9') {
            ++digits;
        }
        if (digits < fewest) return std::nullopt;
        const auto value = *core::parse_decimal<int>(rest_.substr(0, digits));
        if (value > limit) return std::nullopt;
        rest_.remove_prefix(digits);
        return value;
    }
    void blanks() {
        while (take(" ")) {
        }
    }
    std::string_view rest() const { return rest_; }

private:
    std::string_view rest_;
};

struct Parts {
    enum class Day { today, yesterday, named };
    Day day = Day::today;
    int year = 0, month = 0, date = 0;
    int hour = 0, minute = 0, second = 0;
    milliseconds fraction{};
    std::optional<minutes> offset;  ///< none: the host's zone
};

bool take_day(TextReader& text, Parts& parts) {
    if (text.take("today")) return true;
    if (text.take("yesterday")) {
        parts.day = Parts::Day::yesterday;
        return true;
    }
    const auto year = text.number(4, 4, 9999);
    if (!year || !text.take("-")) return false;
    const auto month = text.number(2, 2, 12);
    if (!month || *month == 0 || !text.take("-")) return false;
    const auto date = text.number(2, 2, 31);
    if (!date || *date == 0) return false;
    parts.day = Parts::Day::named;
    parts.year = *year;
    parts.month = *month;
    parts.date = *date;
    return true;
}

bool take_time(TextReader& text, Parts& parts) {
    const auto hour = text.number(1, 2, 23);
    if (!hour || !text.take(":")) return false;
    const auto minute = text.number(2, 2, 59);
    if (!minute) return false;
    parts.hour = *hour;
    parts.minute = *minute;
    if (!text.take(":")) return true;
    const auto second = text.number(2, 2, 60);
    if (!second) return false;
    parts.second = *second;
    if (!text.take(".")) return true;
    const auto fraction = text.number(3, 3, 999);
    if (!fraction) return false;
    parts.fraction = milliseconds{*fraction};
    return true;
}

bool take_zone(TextReader& text, Parts& parts) {
    text.blanks();
    if (text.at_end()) return true;
    if (text.take("Z") || text.take("z") || text.take("UTC")) {
        parts.offset = minutes{0};
        return true;
    }
    const bool east = text.take("+");
    if (!east && !text.take("-")) return false;
    const auto hours = text.number(2, 2, 23);
    if (!hours) return false;
    text.take(":");
    const auto rest = text.at_end() ? std::optional{0} : text.number(2, 2, 59);
    if (!rest) return false;
    const auto offset = std::chrono::hours{*hours} + minutes{*rest};
    parts.offset = east ? offset : -offset;
    return true;
}

std::optional<Parts> parse_parts(std::string_view text) {
    Parts parts;
    TextReader reader{text};
    const bool time_first = text.find(':') < text.find_first_of("- ay");
    if (!time_first) {
        if (!take_day(reader, parts)) return std::nullopt;
        const bool must = reader.take("T") || reader.take("t");
        reader.blanks();
        const auto next = reader.rest().substr(0, 1);
        const bool digit = !next.empty() && next[0] >= '0' && next[0] <= '9';
        if ((must || digit) && !take_time(reader, parts)) return std::nullopt;
    } else if (!take_time(reader, parts)) {
        return std::nullopt;
    }
    if (!take_zone(reader, parts) || !reader.at_end()) return std::nullopt;
    return parts;
}

std::time_t to_time(std::tm& parts, const std::optional<minutes>& offset) {
    parts.tm_isdst = -1;
    if (!offset) return mktime(&parts);
    return timegm(&parts) - std::chrono::duration_cast<seconds>(*offset).count();
}

std::optional<Timestamp> moment_of(const Parts& parts, Timestamp now) {
    std::tm day{};
    if (parts.day == Parts::Day::named) {
        day.tm_year = parts.year - 1900;
        day.tm_mon = parts.month - 1;
        day.tm_mday = parts.date;
    } else {
        const auto shifted = now + parts.offset.value_or(minutes{0});
        const std::time_t at =
            std::chrono::duration_cast<seconds>(shifted.time_since_epoch()).count();
        if (parts.offset) {
            gmtime_r(&at, &day);
        } else {
            localtime_r(&at, &day);
        }
        if (parts.day == Parts::Day::yesterday) --day.tm_mday;
    }
    const int month = day.tm_mon;
    day.tm_hour = parts.hour;
    day.tm_min = parts.minute;
    day.tm_sec = parts.second;
    const auto time = to_time(day, parts.offset);
    // 2026-02-30 would become a day of March.
    if (parts.day == Parts::Day::named && day.tm_mon != month) return std::nullopt;
    return Timestamp{seconds{time} + parts.fraction};
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
    const auto parts = parse_parts(text);
    return parts ? moment_of(*parts, now) : std::nullopt;
}

Timestamp moment_of(const std::string& option, const std::string& text) {
    constexpr auto kForms =
        "write 15:00, yesterday 15:00, 2026-11-22, 2026-11-22T10:00:00Z, -15m, -2h, -3d or "
        "@MILLISECONDS; without Z or an offset it is in the host's time zone";
    if (const auto time = parse_moment(text, core::SystemClock{}.wall())) return *time;
    throw StartupError(option + ": '" + text + "' is no time: " + kForms, kWrongOptions);
}

}  // namespace beckon::app
