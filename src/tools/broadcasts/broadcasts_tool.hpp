#pragma once

#include "app/config/config.hpp"
#include "records/broadcast.hpp"

/// `beckon broadcasts`: on Kafka through the log, else through the running standalone, else through
/// its log while it is stopped. All throw StartupError. The results are exit codes.
namespace beckon::tools {

/// Sets a version, or without one removes the broadcast. Returns when the log has it.
int broadcasts_change(app::Config config, const edge::BroadcastSet& broadcast);
int broadcasts_list(app::Config config);
int broadcasts_token(const app::Config& config);

}  // namespace beckon::tools
