#pragma once

#include "core/clock.hpp"

#include <optional>
#include <string>
#include <string_view>

/// Months, or days, by which messages are kept together so that they can be dropped together.
namespace beckon::store {

/// Years times twelve plus month: months in a row have numbers in a row.
using Month = int;
/// The one family of a store without rotation.
inline constexpr Month kEveryMonth = 0;

Month month_of(core::Timestamp time);
core::Timestamp month_end(Month month);
/// "messages.2026_11"; "messages.all" for kEveryMonth.
std::string month_family_name(Month month);

/// Days since 1970, in place of months where a store rotates daily. No store has both.
Month day_of(core::Timestamp time);
/// "messages.2026_11_22"; "messages.all" for kEveryMonth.
std::string day_family_name(Month day);

/// The number of either.
std::optional<Month> parse_message_family_name(std::string_view name);

}  // namespace beckon::store
