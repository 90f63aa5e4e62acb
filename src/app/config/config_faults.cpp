#include "app/config/config_faults.hpp"

#include "app/config/setting.hpp"
#include "core/authority.hpp"
#include "net/http/caller.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace beckon::app {

namespace {

/// Endpoint URLs go to other hosts, so they need a name that works there.
void check_public_url(const Config& config, Reader reader, std::vector<ConfigFault>& faults) {
    if (!config.endpoint.public_url.empty()) return;
    const std::string wanted =
        "must be given (the public origin of the HTTP API, e.g. https://push.example.org)";
    if (reader == Reader::endpoint || reader == Reader::edge) {
        faults.push_back({"endpoint.url", wanted +
                                              ": endpoints and edges on Kafka hand out the same "
                                              "endpoint URLs"});
    }
    if (reader != Reader::standalone) return;
    for (const auto& [name, host] : {std::pair{"endpoint.host", config.endpoint.host},
                                     std::pair{"edge.host", config.edge.host}}) {
        if (net::names_this_host(host)) continue;
        faults.push_back({"endpoint.url", wanted + ": " + name + " is " + host +
                                              ", and other hosts could not use an endpoint URL "
                                              "that names this one as localhost"});
        return;
    }
}

/// Why a broker's address cannot be one; empty if it can. librdkafka would wait for it without end.
std::string fault_of_server(std::string_view server) {
    const auto is = "is '" + std::string{server} + "': a broker is host:port, e.g. kafka-1:9092";
    for (const std::string_view protocol :
         {"PLAINTEXT://", "SSL://", "SASL_PLAINTEXT://", "SASL_SSL://"}) {
        if (server.starts_with(protocol)) server.remove_prefix(protocol.size());
    }
    const auto split = core::split_authority(server);
    if (!split || !may_be_host(split->host)) return is;
    // Without a port it is librdkafka's default, 9092.
    return !split->port || core::parse_port(*split->port) ? std::string{}
                                                          : is + ", with a port from 1 to 65535";
}

void check_servers(const Config& config, std::vector<ConfigFault>& faults) {
    std::string_view rest = config.kafka.bootstrap_servers;
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        auto server = rest.substr(0, comma);
        rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
        while (server.starts_with(' ')) server.remove_prefix(1);
        while (server.ends_with(' ')) server.remove_suffix(1);
        if (auto why = fault_of_server(server); !why.empty()) {
            faults.push_back({"kafka.servers", std::move(why)});
        }
    }
}

/// In one process the endpoint accepts messages for the bridges of the role retry.
void check_bridged_apps(const Config& config, Reader reader, std::vector<ConfigFault>& faults) {
    if (reader != Reader::standalone) return;
    const auto check = [&faults](const std::string& names_setting, const auto& names,
                                 const std::string& setting, const auto& entries) {
        for (const auto& name : entries.empty() ? std::vector<std::string>{} : names) {
            if (std::ranges::any_of(entries,
                                    [&](const auto& entry) { return app_of(entry) == name; })) {
                continue;
            }
            faults.push_back({names_setting, "names '" + name + "', for which " + setting +
                                                 " has no credentials"});
        }
    };
    check("endpoint.fcm_app_ids", config.endpoint.fcm_app_ids, "retry.fcm.credentials",
          config.retry.fcm_credentials);
    check("endpoint.apns_channels", config.endpoint.apns_channels, "retry.apns.credentials",
          config.retry.apns_credentials);
}

/// Checks options that depend on each other.
void check_together(const Config& config, Reader reader, std::vector<ConfigFault>& faults) {
    const auto pair = [&faults](const std::string& name, const auto& certificate, const auto& key) {
        if (certificate.has_value() == key.has_value()) return;
        faults.push_back(
            {name + "certificate, " + name + "key", "give both (PEM files) or neither"});
    };
    pair("endpoint.tls_", config.endpoint.tls_certificate, config.endpoint.tls_key);
    if (config.endpoint_self_signed && config.endpoint.tls_certificate) {
        faults.push_back(
            {"endpoint.self_signed", "does not go with endpoint.tls_certificate: choose one"});
    }
    pair("retry.client_", config.retry.client_certificate, config.retry.client_key);
    // A tool beside the console has its environment, and opens none.
    if (!config.console.token_file && !net::names_this_host(config.console.host) &&
        has_effect("console.host", reader)) {
        faults.push_back(
            {"console.token_file", "must be given with this console.host: everybody who reaches " +
                                       config.console.host + " would see the console"});
    }
    const auto proxies = [&faults](const std::string& role, bool header, const auto& trusted) {
        if (!header || !trusted.empty()) return;
        faults.push_back(
            {role + ".proxy_protocol",
             "needs " + role +
                 ".trusted_proxies, the peers whose connections begin with a PROXY header"});
    };
    proxies("endpoint", config.endpoint.proxy_protocol, config.endpoint.trusted_proxies);
    proxies("edge", config.edge.proxy_protocol, config.edge.trusted_proxies);
    if (core::is_any_address(config.edge.link_host) && config.edge.link_address.empty()) {
        faults.push_back({"edge.link_address",
                          "must be given with this edge.link_host: other edges cannot reach " +
                              config.edge.link_host});
    }
    pair("retry.tls_", config.retry.tls_certificate, config.retry.tls_key);
    pair("edge.tls_", config.edge.tls_certificate, config.edge.tls_key);
}

}  // namespace

bool may_be_host(std::string_view host) {
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._[:]%";
    if (!host.starts_with('[') && host.find(':') != host.npos) return false;
    return host.find_first_not_of(kAllowed) == host.npos &&
           host.find_first_not_of("0123456789") != host.npos;
}

std::string app_of(const std::string& entry) { return entry.substr(0, entry.find('=')); }

std::vector<ConfigFault> faults_of(const Config& config, Reader reader) {
    std::vector<ConfigFault> faults;
    check_together(config, reader, faults);
    check_public_url(config, reader, faults);
    check_servers(config, faults);
    check_bridged_apps(config, reader, faults);
    auto copy = config;
    for (const auto& setting : settings_of(copy)) {
        if (!setting.faults || !has_effect(setting.name, reader)) continue;
        for (auto& what : setting.faults()) faults.push_back({setting.name, std::move(what)});
    }
    return faults;
}

}  // namespace beckon::app
