#include "retry/role/bridge_parts.hpp"

#include "core/logger.hpp"
#include "retry/attempt/bridge/apns_app.hpp"
#include "retry/attempt/bridge/fcm_app.hpp"

#include <set>
#include <stdexcept>
#include <utility>

namespace beckon::retry {

namespace {

constexpr const char* kFcmSetting = "retry.fcm.credentials";
constexpr const char* kApnsSetting = "retry.apns.credentials";
/// Google's errors and tokens take a few kilobytes.
constexpr std::size_t kAnswerKept = std::size_t{16} * 1024;

template <class Load>
auto load_all(const char* setting, const std::vector<std::string>& entries, Load load) {
    std::vector<typename decltype(load(std::string{}))::value_type> all;
    std::set<std::string> names;
    for (const auto& entry : entries) {
        auto one = load(entry);
        if (!one) throw std::runtime_error(std::string{setting} + ": " + one.error().message);
        if (!names.insert(app_of(entry)).second) {
            throw std::runtime_error(std::string{setting} + ": '" + app_of(entry) +
                                     "' is named twice");
        }
        all.push_back(std::move(*one));
    }
    return all;
}

/// Only the operator names the URLs of bridges.
AddressGuard any_address() { return *AddressGuard::with_allowed({"any"}); }

}  // namespace

BridgeCredentials load_bridge_credentials(const RoleConfig& config) {
    BridgeCredentials all{
        .fcm = load_all(kFcmSetting, config.fcm_credentials, load_fcm_credentials),
        .apns = load_all(kApnsSetting, config.apns_credentials, load_apns_credentials)};
    for (const auto& one : all.fcm) {
        core::log_info("retry", "bridge", {{"bridge", "fcm"}, {"app", one.app}});
    }
    for (const auto& one : all.apns) {
        core::log_info("retry", "bridge",
                       {{"bridge", "apns"}, {"app", one.channel}, {"topic", one.topic}});
    }
    return all;
}

HttpSender::Options bridge_sender_options(const RoleConfig& config) {
    return {.guard = any_address(),
            .inside = *HostList::of(config.allowed_hosts),
            .proxy = config.proxy,
            .ca_file = config.ca_file,
            .user_agent = "Beckon/" + config.version,
            .http2 = true,
            .body_kept = kAnswerKept};
}

BridgeApps make_bridge_apps(const RoleConfig& config, const BridgeCredentials& credentials,
                            const BridgeAppContext& context) {
    BridgeApps apps;
    for (const auto& one : credentials.fcm) {
        FcmApp::Options options;
        if (!config.fcm_url.empty()) options.url = config.fcm_url;
        apps[{core::RouterType::fcm, one.app}] =
            std::make_unique<FcmApp>(one, std::move(options), context);
    }
    for (const auto& one : credentials.apns) {
        apps[{core::RouterType::apns, one.channel}] =
            std::make_unique<ApnsApp>(one, ApnsApp::Options{.url = config.apns_url}, context);
    }
    return apps;
}

}  // namespace beckon::retry
