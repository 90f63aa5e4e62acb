#include "retry/filter/date.hpp"

namespace beckon::retry {

namespace {

/// Reads a date from its beginning; every step fails for good.
class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}

    std::optional<int> digits(std::size_t count) {
        if (rest_.size() < count) return std::nullopt;
        int value = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (rest_[i] < '0' || rest_[i] > '9') return std::nullopt;
            value = 10 * value + (rest_[i] - '0');
        }
        rest_.remove_prefix(count);
        return value;
    }
    bool take(char c) {
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    /// Milliseconds of `.125…`; further digits do not count.
    int fraction() {
        int ms = 0;
        int scale = 100;
        while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
            ms += scale * (rest_.front() - '0');
            scale /= 10;
            rest_.remove_prefix(1);
        }
        return ms;
    }
    bool at_end() const { return rest_.empty(); }
    bool at_digit() const { return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; }

private:
    std::string_view rest_;
};

std::optional<std::chrono::sys_days> day_of(Reader& in) {
    const auto year = in.digits(4);
    if (!year || !in.take('-')) return std::nullopt;
    const auto month = in.digits(2);
    if (!month || !in.take('-')) return std::nullopt;
    const auto day = in.digits(2);
    if (!day) return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year{*year},
                                           std::chrono::month{static_cast<unsigned>(*month)},
                                           std::chrono::day{static_cast<unsigned>(*day)}};
    if (!date.ok()) return std::nullopt;
    return std::chrono::sys_days{date};
}

std::optional<std::chrono::milliseconds> time_of(Reader& in) {
    const auto hour = in.digits(2);
    if (!hour || *hour > 23 || !in.take(':')) return std::nullopt;
    const auto minute = in.digits(2);
    if (!minute || *minute > 59) return std::nullopt;
    std::chrono::milliseconds time = std::chrono::hours{*hour} + std::chrono::minutes{*minute};
    if (!in.take(':')) return time;
    const auto second = in.digits(2);
    if (!second || *second > 60) return std::nullopt;
    time += std::chrono::seconds{*second};
    if (!in.take('.')) return time;
    if (!in.at_digit()) return std::nullopt;
    return time + std::chrono::milliseconds{in.fraction()};
}

std::optional<std::chrono::minutes> offset_of(Reader& in) {
    if (in.at_end() || in.take('Z') || in.take('z')) return std::chrono::minutes{0};
    const bool west = in.take('-');
    if (!west && !in.take('+')) return std::nullopt;
    const auto hours = in.digits(2);
    if (!hours || *hours > 23 || !in.take(':')) return std::nullopt;
    const auto minutes = in.digits(2);
    if (!minutes || *minutes > 59) return std::nullopt;
    const std::chrono::minutes offset = std::chrono::hours{*hours} + std::chrono::minutes{*minutes};
    return west ? -offset : offset;
}

}  // namespace

std::optional<core::Timestamp> parse_date(std::string_view text) {
    Reader in{text};
    const auto day = day_of(in);
    if (!day) return std::nullopt;
    if (in.at_end()) return core::Timestamp{*day};
    if (!in.take('T') && !in.take('t')) return std::nullopt;
    const auto time = time_of(in);
    if (!time) return std::nullopt;
    const auto offset = offset_of(in);
    if (!offset || !in.at_end()) return std::nullopt;
    return core::Timestamp{*day} + *time - *offset;
}

}  // namespace beckon::retry
