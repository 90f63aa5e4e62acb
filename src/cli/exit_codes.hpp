#pragma once

namespace beckon::cli {

/// What the commands that push, listen and measure return. 128 + its number after a signal.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongOptions = 2;

}  // namespace beckon::cli
