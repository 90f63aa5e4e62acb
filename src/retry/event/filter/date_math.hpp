#pragma once

#include "core/clock.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// A time that is reckoned when it is asked for: `now-1d`, `now/M`, `2026-11-20||+1M/d`. After
/// `now`, or a date and `||`, come steps: `+` or `-` with a whole number and a unit (y, M, w, d, h
/// or H, m, s), or `/` with a unit, which rounds. All in UTC; weeks begin on Monday. Immutable.
class DateMath {
public:
    static constexpr std::size_t kStepsMax = 8;

    /// Whether a text means to be one.
    static bool is_meant(std::string_view text);
    /// nullopt: it is none.
    static std::optional<DateMath> parse(std::string_view text);

    enum class Round : std::uint8_t {
        down,  ///< to the first millisecond of the unit
        up,    ///< to the last one
    };
    core::Timestamp at(core::Timestamp now, Round round) const;
    std::size_t heap_bytes() const;

private:
    struct Step {
        bool rounds = false;
        int count = 0;
        char unit = 's';
    };
    bool parse_steps(std::string_view text);

    std::optional<core::Timestamp> date_;  ///< nullopt: now
    std::vector<Step> steps_;
};

}  // namespace beckon::retry
