#pragma once

#include "cli/config/config.hpp"

#include <string>

namespace beckon::cli {

struct LagOptions {
    bool watch = false;
    bool json = false;
    bool only_behind = false;
    std::string group;  ///< empty: all
};

/// What `beckon lag` ends with when a group is STALLED or STOPPED, or records were or soon will be
/// removed unread.
inline constexpr int kBehind = 3;

/// Prints the lag of all groups. Two polls where the brokers are asked, since one has no rates.
/// Throws StartupError: nobody answers.
int show_lag(const Config& config, const LagOptions& options);

}  // namespace beckon::cli
