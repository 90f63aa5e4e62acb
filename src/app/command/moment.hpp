#pragma once

#include "core/clock.hpp"

#include <optional>
#include <string>
#include <string_view>

/// Moments as people write them in options of tools.
namespace beckon::app {

/// `15:00`, `15:00:30`, `yesterday`, `yesterday 15:00`, `today 9:30`, `2026-11-22`,
/// `2026-11-22 10:00`, `2026-11-22T10:00:00.250`, each in the host's time zone unless `Z` or an
/// offset (`+02:00`) follows; `-15m` (s, m, h, d ago), `now`, `@1790000000123`
/// (milliseconds since 1970). A time without a day is of today, a day without a time its first
/// moment. nullopt: none of these.
std::optional<core::Timestamp> parse_moment(std::string_view text, core::Timestamp now);

/// The same of an option's value; throws StartupError, with the forms that are allowed.
core::Timestamp moment_of(const std::string& option, const std::string& text);

}  // namespace beckon::app
