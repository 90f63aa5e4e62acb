#pragma once

#include "retry/attempt/bridge/credentials.hpp"
#include "retry/attempt/http_sender.hpp"
#include "retry/home/bridges.hpp"
#include "retry/role/role.hpp"

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

/// Of the sender that the apps of one thread send with.
HttpSender::Options bridge_sender_options(const RoleConfig& config);
/// The apps of one thread.
BridgeApps make_bridge_apps(const RoleConfig& config, const BridgeCredentials& credentials,
                            const BridgeAppContext& context);

}  // namespace beckon::retry
