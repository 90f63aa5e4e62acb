#include "retry/event/filter/date.hpp"

#include "core/ascii.hpp"

#include <algorithm>

namespace beckon::retry {

namespace {

using std::chrono::milliseconds;

/// Reads a text from its beginning. After the first fault nothing more is read, and `ok` is false.
struct Reader {
    std::string_view rest;
    bool ok = true;

    bool at(char c) const { return ok && rest.starts_with(c); }
    bool take_if(char c) {
        if (!at(c)) return false;
        rest.remove_prefix(1);
        return true;
    }
    void take(char c) { ok = take_if(c); }
    /// A number of so many digits.
    int number(std::size_t digits, int most) {
        const auto text = rest.substr(0, digits);
        ok = ok && text.size() == digits && std::all_of(text.begin(), text.end(), core::is_digit);
        if (!ok) return 0;
        int value = 0;
        for (const char c : text) value = 10 * value + (c - '0');
        rest.remove_prefix(digits);
        ok = value <= most;
        return value;
    }
    std::chrono::sys_days day() {
        const std::chrono::year year{number(4, 9'999)};
        take('-');
        const std::chrono::month month{static_cast<unsigned>(number(2, 12))};
        take('-');
        const auto date = year / month / std::chrono::day{static_cast<unsigned>(number(2, 31))};
        ok = ok && date.ok();
        return ok ? std::chrono::sys_days{date} : std::chrono::sys_days{};
    }
    milliseconds hour_and_minute() {
        const std::chrono::hours hours{number(2, 23)};
        take(':');
        return hours + std::chrono::minutes{number(2, 59)};
    }
    /// `:08.125`: milliseconds; further digits do not count.
    milliseconds second() {
        const std::chrono::seconds whole{number(2, 60)};
        milliseconds time{whole};
        if (!take_if('.')) return time;
        auto scale = milliseconds{100};
        do {
            time += number(1, 9) * scale;
            scale /= 10;
        } while (ok && !rest.empty() && core::is_digit(rest.front()));
        return time;
    }
    milliseconds offset() {
        if (rest.empty() || take_if('Z') || take_if('z')) return {};
        const bool west = take_if('-');
        if (!west) take('+');
        return west ? -hour_and_minute() : hour_and_minute();
    }
};

}  // namespace

std::optional<core::Timestamp> parse_date(std::string_view text) {
    Reader in{text};
    core::Timestamp time{in.day()};
    if (in.ok && !in.rest.empty()) {
        if (!in.take_if('T')) in.take('t');
        time += in.hour_and_minute();
        if (in.take_if(':')) time += in.second();
        time -= in.offset();
    }
    if (!in.ok || !in.rest.empty()) return std::nullopt;
    return time;
}

}  // namespace beckon::retry
