#pragma once

#include "ops/ops_server.hpp"

#include <string>

#include <nlohmann/json.hpp>

/// What commands ask a process of this installation, at its ops port.
namespace beckon::cli {

struct OpsReply {
    long status = 0;
    nlohmann::json body;  ///< discarded if it is no JSON
};

/// GET of `target` ("/backup/state?id=1") at `ops`. Throws StartupError naming the address if
/// nobody answers there. Blocks.
OpsReply ask_ops_port(const ops::OpsConfig& ops, const std::string& target);

/// For what a path or a query may not hold.
std::string percent_encoded(const std::string& text);

}  // namespace beckon::cli
