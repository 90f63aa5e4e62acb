#pragma once

namespace beckon::cli {

/// What commands return. 128 + its number after a signal.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongOptions = 2;
/// `trace`, `replay`: the log has nothing of what was asked for.
inline constexpr int kNothingFound = 3;

}  // namespace beckon::cli
