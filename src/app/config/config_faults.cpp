#include "app/config/config_faults.hpp"

#include "app/config/setting.hpp"
#include "console/canary/canary.hpp"
#include "core/authority.hpp"
#include "ingest/endpoint.hpp"
#include "net/http/caller.hpp"
#include "net/peer_address.hpp"
#include "retry/attempt/address_guard.hpp"
#include "retry/attempt/host_list.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
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

/// Characters of a path that every proxy hands on as they are (RFC 3986 section 3.3).
void check_edge_path(const Config& config, std::vector<ConfigFault>& faults) {
    constexpr std::size_t kMax = 127;
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    const auto& path = config.edge.path;
    if (path.starts_with('/') && path.size() <= kMax &&
        path.find_first_not_of(kAllowed) == std::string::npos) {
        return;
    }
    faults.push_back({"edge.path", "is '" + path + "': it begins with / and has at most " +
                                       std::to_string(kMax) +
                                       " letters, digits and -._~/, e.g. /push"});
}

/// Whether it is a name or an address, of IPv6 in brackets; what is all digits is a port that has
/// lost its host.
bool may_be_host(std::string_view host) {
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._[:]%";
    if (!host.starts_with('[') && host.find(':') != host.npos) return false;
    return host.find_first_not_of(kAllowed) == host.npos &&
           host.find_first_not_of("0123456789") != host.npos;
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

/// Why the text is not what browsers send as Origin (RFC 6454 section 6.2), and so equals none;
/// empty if it is.
std::string fault_of_page_origin(const std::string& text) {
    constexpr std::string_view kAuthority = "://";
    const auto at = text.find(kAuthority);
    if (text.starts_with("http")) {
        const auto origin = normalized_origin(text);
        if (!origin) return "has '" + text + "', which is " + origin.error().message;
        return *origin == text ? std::string{}
                               : "has '" + text + "': browsers send it as " + *origin;
    }
    // Of an extension: moz-extension://<id>. A page without an origin sends null.
    const bool good =
        text == "null" || (at != text.npos && at > 0 && text.size() > at + kAuthority.size() &&
                           text.find('/', at + kAuthority.size()) == text.npos);
    return good ? std::string{}
                : "has '" + text + "', which is no origin such as https://app.example.org";
}

/// Addresses of this process and of others.
void check_addresses(const Config& config, Reader reader, std::vector<ConfigFault>& faults) {
    const auto check = [&](const char* setting, const std::string& text, std::string why) {
        if (text.empty() || why.empty() || !has_effect(setting, reader)) return;
        faults.push_back({setting, std::move(why)});
    };
    const auto& link = config.edge.link_address;
    const auto split = core::split_authority(link);
    check("edge.link_address", link,
          split && may_be_host(split->host) && split->port && core::parse_port(*split->port)
              ? ""
              : "is '" + link + "': it is host:port, e.g. edge-1.example.org:8082");
    for (const auto& text : config.edge.allowed_origins) {
        check("edge.allowed_origins", text, fault_of_page_origin(text));
    }
    for (const auto& text : config.console_retry_urls) {
        const auto origin = normalized_origin(text);
        check("console.retry_urls", text, origin ? "" : origin.error().message);
    }
}

/// In one process the endpoint accepts messages for the bridges of the role retry.
void check_bridged_apps(const Config& config, Reader reader, std::vector<ConfigFault>& faults) {
    if (reader != Reader::standalone) return;
    const auto check = [&faults](const std::string& names_setting, const auto& names,
                                 const std::string& setting, const auto& entries) {
        for (const auto& name : entries.empty() ? std::vector<std::string>{} : names) {
            if (std::any_of(entries.begin(), entries.end(),
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

/// Lists whose items another part of the process reads: reports now the items that it would refuse
/// later, when there are a data directory and a key ring.
void check_lists(const Config& config, Reader reader, std::vector<ConfigFault>& faults) {
    const auto each = [&](const std::string& setting, const auto& items, const auto& why_not) {
        if (!has_effect(setting, reader)) return;
        for (const auto& item : items) {
            if (auto why = why_not(item); !why.empty()) faults.push_back({setting, std::move(why)});
        }
    };
    const auto message_of = [](const auto& result) {
        return result ? std::string{} : result.error().message;
    };
    const auto thrown_by = [](const auto& act) {
        try {
            act();
        } catch (const std::runtime_error& error) {
            return std::string{error.what()};
        }
        return std::string{};
    };
    const auto proxy = [&](const std::string& text) {
        return thrown_by([&] { net::TrustedProxies{{text}}; });
    };
    each("endpoint.tracking_keys", config.endpoint.tracking_keys,
         [&](const auto& text) { return message_of(ingest::parse_tracking_key(text)); });
    each("endpoint.extra_audiences", config.endpoint.extra_audiences,
         [&](const auto& text) { return message_of(normalized_origin(text)); });
    each("endpoint.trusted_proxies", config.endpoint.trusted_proxies, proxy);
    each("edge.trusted_proxies", config.edge.trusted_proxies, proxy);
    each("retry.allowed_addresses", config.retry.allowed_addresses,
         [&](const auto& text) { return message_of(retry::AddressGuard::with_allowed({text})); });
    each("retry.allowed_hosts", config.retry.allowed_hosts,
         [&](const auto& text) { return message_of(retry::HostList::of({text})); });
    each("retry.client_certificate_hosts", config.retry.client_certificate_hosts,
         [&](const auto& text) { return message_of(retry::HostList::of({text})); });
    auto canary = thrown_by([&] { console::canary_targets(config.console_canary); });
    if (!canary.empty() && has_effect("console.canary", reader)) {
        faults.push_back({"console.canary", std::move(canary)});
    }
}

/// Checks options that depend on each other.
void check_together(const Config& config, Reader reader, std::vector<ConfigFault>& faults) {
    const auto pair = [&faults](const char* role, const auto& certificate, const auto& key,
                                bool self_signed) {
        const std::string name{role};
        if (certificate.has_value() != key.has_value()) {
            faults.push_back({name + ".tls_certificate, " + name + ".tls_key",
                              "give both (PEM files) or neither"});
        }
        if (self_signed && certificate) {
            faults.push_back({name + ".self_signed",
                              "does not go with " + name + ".tls_certificate: choose one"});
        }
    };
    pair("endpoint", config.endpoint.tls_certificate, config.endpoint.tls_key,
         config.endpoint_self_signed);
    if (config.retry.client_certificate.has_value() != config.retry.client_key.has_value()) {
        faults.push_back(
            {"retry.client_certificate, retry.client_key", "give both (PEM files) or neither"});
    }
    // A tool beside the console has its environment, and opens none.
    if (!config.console_token_file && !net::names_this_host(config.console.host) &&
        has_effect("console.host", reader)) {
        faults.push_back(
            {"console.token_file", "must be given with this console.host: everybody who reaches " +
                                       config.console.host + " would see the console"});
    }
    check_edge_path(config, faults);
    const auto proxies = [&faults](const std::string& role, bool header, const auto& trusted) {
        if (!header || !trusted.empty()) return;
        faults.push_back(
            {role + ".proxy_protocol",
             "needs " + role +
                 ".trusted_proxies, the peers whose connections begin with a PROXY header"});
    };
    proxies("endpoint", config.endpoint.proxy_protocol, config.endpoint.trusted_proxies);
    proxies("edge", config.edge.proxy_protocol, config.edge.trusted_proxies);
    const auto& page = config.edge.broadcasts_url;
    if (!page.empty() && !page.starts_with("http://") && !page.starts_with("https://")) {
        faults.push_back({"edge.broadcasts_url", "must begin with http:// or https://"});
    }
    if (core::is_any_address(config.edge.link_host) && config.edge.link_address.empty()) {
        faults.push_back({"edge.link_address",
                          "must be given with this edge.link_host: other edges cannot reach " +
                              config.edge.link_host});
    }
    pair("retry", config.retry.tls_certificate, config.retry.tls_key, false);
    pair("edge", config.edge.tls_certificate, config.edge.tls_key, false);
}

}  // namespace

std::string app_of(const std::string& entry) { return entry.substr(0, entry.find('=')); }

std::vector<ConfigFault> faults_of(const Config& config, Reader reader) {
    std::vector<ConfigFault> faults;
    check_together(config, reader, faults);
    check_public_url(config, reader, faults);
    check_servers(config, faults);
    check_bridged_apps(config, reader, faults);
    check_lists(config, reader, faults);
    check_addresses(config, reader, faults);
    return faults;
}

}  // namespace beckon::app
