#include "retry/event/filter/date_math.hpp"

#include "core/decimal.hpp"
#include "retry/event/filter/date.hpp"
#include "retry/event/filter/heap.hpp"

#include <algorithm>
#include <chrono>

namespace beckon::retry {

namespace {

using core::Timestamp;
using std::chrono::days;
using std::chrono::sys_days;

constexpr std::string_view kNow = "now";
constexpr std::string_view kBar = "||";
constexpr std::string_view kUnits = "yMwdhHms";
constexpr int kCountMax = 99'999;

/// Days and less, which have one length.
std::chrono::milliseconds unit_length(char unit) {
    switch (unit) {
        case 'w': return days{7};
        case 'd': return days{1};
        case 'h':
        case 'H': return std::chrono::hours{1};
        case 'm': return std::chrono::minutes{1};
        default: return std::chrono::seconds{1};
    }
}

/// Moves a time by months and keeps the time of day: to the same day of the other month, or to its
/// last one. Years from 1 to 9999, as texts have them.
Timestamp add_months(Timestamp time, int count) {
    const auto day = std::chrono::floor<days>(time);
    const std::chrono::year_month_day date{day};
    constexpr int kMonths = 12;
    const auto months = static_cast<int>(date.year()) * kMonths +
                        static_cast<int>(static_cast<unsigned>(date.month())) - 1 + count;
    const auto bounded = std::clamp(months, kMonths, 10'000 * kMonths - 1);
    const auto month = std::chrono::year{bounded / kMonths} /
                       std::chrono::month{static_cast<unsigned>(bounded % kMonths) + 1};
    const std::chrono::year_month_day_last last{month / std::chrono::last};
    const auto there = month / std::min(date.day(), last.day());
    return Timestamp{sys_days{there}} + (time - day);
}

Timestamp add_units(Timestamp time, int count, char unit) {
    if (unit == 'y') return add_months(time, count * 12);
    if (unit == 'M') return add_months(time, count);
    return time + count * unit_length(unit);
}

/// The first moment of the year, month, … that the time is in.
Timestamp begin_of_unit(Timestamp time, char unit) {
    const auto day = std::chrono::floor<days>(time);
    const std::chrono::year_month_day date{day};
    if (unit == 'y') return Timestamp{sys_days{date.year() / std::chrono::January / 1}};
    if (unit == 'M') return Timestamp{sys_days{date.year() / date.month() / 1}};
    if (unit == 'w') {
        const std::chrono::weekday weekday{day};
        return Timestamp{day - days{weekday.iso_encoding() - 1}};
    }
    const auto length = unit_length(unit);
    const auto within = (time - day) % length;
    return time - within;
}

}  // namespace

bool DateMath::is_meant(std::string_view text) {
    return text.starts_with(kNow) || text.find(kBar) != std::string_view::npos;
}

std::optional<DateMath> DateMath::parse(std::string_view text) {
    DateMath math;
    if (text.starts_with(kNow)) {
        text.remove_prefix(kNow.size());
    } else {
        const auto bar = text.find(kBar);
        if (bar == std::string_view::npos) return std::nullopt;
        math.date_ = parse_date(text.substr(0, bar));
        if (!math.date_) return std::nullopt;
        text.remove_prefix(bar + kBar.size());
    }
    if (!math.parse_steps(text)) return std::nullopt;
    return math;
}

bool DateMath::parse_steps(std::string_view text) {
    while (!text.empty()) {
        if (steps_.size() == kStepsMax) return false;
        const auto sign = text.front();
        text.remove_prefix(1);
        Step step{.rounds = sign == '/'};
        if (!step.rounds) {
            if (sign != '+' && sign != '-') return false;
            const auto end = text.find_first_not_of("0123456789");
            const auto digits = text.substr(0, std::min(end, text.size()));
            // `now-d` is one day, as in the query DSL.
            const auto count = digits.empty() ? 1 : core::parse_decimal<int>(digits);
            if (!count || *count > kCountMax) return false;
            step.count = sign == '-' ? -*count : *count;
            text.remove_prefix(digits.size());
        }
        if (text.empty() || kUnits.find(text.front()) == std::string_view::npos) return false;
        step.unit = text.front();
        text.remove_prefix(1);
        steps_.push_back(step);
    }
    return true;
}

Timestamp DateMath::at(Timestamp now, Round round) const {
    auto time = date_.value_or(now);
    for (const auto& step : steps_) {
        if (!step.rounds) {
            time = add_units(time, step.count, step.unit);
            continue;
        }
        time = begin_of_unit(time, step.unit);
        if (round == Round::up) time = add_units(time, 1, step.unit) - std::chrono::milliseconds{1};
    }
    return time;
}

std::size_t DateMath::heap_bytes() const { return heap_of(steps_); }

}  // namespace beckon::retry
