#pragma once

#include "app/config/config.hpp"
#include "app/config/reader.hpp"
#include "log/control.hpp"
#include "tools/doctor/finding.hpp"

#include <chrono>
#include <string>
#include <vector>

/// The check of `beckon doctor --role` whether the brokers let this user do what a role does.
namespace beckon::tools {

/// What a role does with the log (docs/operations/rights.md#rights-on-a-locked-kafka).
struct RoleRights {
    std::vector<log::Topic> reads;
    std::vector<log::Topic> writes;
    std::string groups;  ///< the beginning of the names of its groups, without prefix; empty: none
};
/// `delays`: those of the installation (Control::tiers).
RoleRights rights_of(app::Reader role, const std::vector<std::chrono::seconds>& delays);

/// Tries each of them: reads at the end of a topic, writes a read barrier, which every reader
/// passes over, and joins a group of its own for a moment. One finding for each topic or group that
/// is refused, with the operation; one that all is well otherwise. Blocks for some seconds.
Findings check_rights(const app::Config& config, const log::Control& control, app::Reader role);

}  // namespace beckon::tools
