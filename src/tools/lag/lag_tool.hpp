#pragma once

#include "app/config/config.hpp"

#include <string>

namespace beckon::tools {

struct LagOptions {
    bool watch = false;
    bool json = false;
    bool only_behind = false;
    bool partitions = false;  ///< a row for each; else for each group
    std::string group;        ///< empty: all
};

/// The exit code of `beckon lag` when a group is STALLED or STOPPED, or records were or soon will
/// be removed unread.
inline constexpr int kBehind = 3;

/// Prints the lag of all groups. Polls the brokers twice, since one poll gives no rates. Throws
/// StartupError: no process and no broker answers.
int show_lag(const app::Config& config, const LagOptions& options);

}  // namespace beckon::tools
