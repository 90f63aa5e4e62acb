#pragma once

#include "client/api_client.hpp"
#include "core/result.hpp"
#include "ops/ops_server.hpp"

#include <string>

#include <nlohmann/json.hpp>

/// The queries of commands to a process of this installation, at its ops port.
namespace beckon::tools {

struct OpsReply {
    int status = 0;
    nlohmann::json body;  ///< discarded if it is no JSON
};

/// GET of `target` ("/backup/state?id=1") at `ops`. Throws StartupError naming the address if no
/// process answers there. Blocks.
OpsReply ask_ops_port(const ops::OpsConfig& ops, const std::string& target,
                      const std::string& bearer = {});

/// One connection to an ops port, kept open between requests. Blocks; one thread.
class OpsConnection {
public:
    using Raw = client::ApiAnswer;
    /// `bearer`: the proof that some pages ask for; empty: none.
    OpsConnection(const ops::OpsConfig& ops, const std::string& bearer);

    /// GET of `target`. Errors: unavailable (no process answers; the text names the address).
    core::Result<Raw> get(const std::string& target);
    /// The same as JSON. Throws StartupError.
    OpsReply ask(const std::string& target);

private:
    client::ApiClient process_;
};

}  // namespace beckon::tools
