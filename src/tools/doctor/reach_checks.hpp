#pragma once

#include "app/config/config.hpp"
#include "app/config/reader.hpp"
#include "core/clock.hpp"
#include "tools/doctor/finding.hpp"

#include <optional>
#include <string>

/// The checks of `beckon doctor` that query the log, running processes, and the public URL. Each
/// changes nothing.
namespace beckon::tools {

/// Whether the log answers and belongs to this installation: the key ring's fingerprint must be the
/// one in `control`. On Kafka also whether the log topics have the settings that Beckon needs, and,
/// if a role is named, whether the user has its rights.
Findings check_log(app::Config config, std::optional<app::Reader> role);
/// The state that the process at the ops port reports. `needed`: it is known to run.
Finding check_process(const app::Config& config, bool needed);
/// Whether the public origin of the HTTP API answers, and by its Date header whether clocks agree.
Findings check_public_url(const std::string& origin, core::Timestamp now);

}  // namespace beckon::tools
