#pragma once

#include "core/clock.hpp"
#include "log/event_log.hpp"
#include "net/io_loop.hpp"
#include "retry/attempt/http_sender.hpp"
#include "retry/bridge/bridges.hpp"
#include "retry/bridge/credentials.hpp"
#include "retry/node/retry_node.hpp"
#include "retry/role/role.hpp"

#include <memory>
#include <vector>

namespace beckon::retry {

/// The credentials of all apps, read at the start so that a wrong file is no surprise later.
struct BridgeCredentials {
    std::vector<FcmCredentials> fcm;
    std::vector<ApnsCredentials> apns;
};

/// Throws std::runtime_error: a file does not load, or an app is named twice (names setting, file
/// and fault, never a file's content).
BridgeCredentials load_bridge_credentials(const RoleConfig& config);

/// The bridges of a role with all that they stand on. Made and used on the role's thread.
class BridgeParts {
public:
    BridgeParts(const RoleConfig& config, BridgeCredentials credentials,
                const RetryNode::Options& node, log::EventLog& log, net::IoLoop& loop,
                const core::Clock& clock, BridgeObserver& observer, WorkJournal::Slot& journal);

    Bridges& bridges() { return *bridges_; }
    /// Breaks off all attempts under way; call it before the receivers of their answers are
    /// destroyed.
    void end_answers() { sender_.reset(); }

private:
    std::unique_ptr<Bridges> bridges_;
    std::unique_ptr<HttpSender> sender_;  ///< goes first: its answers go to the bridges
};

}  // namespace beckon::retry
