#pragma once

namespace beckon::app {

/// The exit codes of commands. After a signal: 128 + its number.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongOptions = 2;
/// `message`, `replay` and other queries: the log has no matching record.
inline constexpr int kNothingFound = 3;

}  // namespace beckon::app
