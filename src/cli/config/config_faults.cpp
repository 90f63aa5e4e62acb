#include "cli/config/config_faults.hpp"

#include "cli/config/origin_setting.hpp"

#include <string_view>
#include <utility>

namespace beckon::cli {

namespace {

bool is_loopback(std::string_view host) {
    return host == "::1" || host == "localhost" || host.starts_with("127.");
}

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
        if (is_loopback(host)) continue;
        faults.push_back({"endpoint.url", wanted + ": " + name + " is " + host +
                                              ", and other hosts could not use an endpoint URL "
                                              "that names this one as localhost"});
        return;
    }
}

/// What no single option can see.
void check_together(const Config& config, std::vector<ConfigFault>& faults) {
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
    if (config.endpoint.drain >= config.stop_timeout || config.retry.drain >= config.stop_timeout ||
        config.edge.hand_over + config.edge.drain >= config.stop_timeout) {
        faults.push_back({"stop_timeout",
                          "must be longer than endpoint.drain, retry.drain, and edge.hand_over and "
                          "edge.drain together, or the process ends in the middle of them"});
    }
    if (is_any_address(config.edge.link_host) && config.edge.link_address.empty()) {
        faults.push_back({"edge.link_address",
                          "must be given with this edge.link_host: other edges cannot reach " +
                              config.edge.link_host});
    }
    pair("retry", config.retry.tls_certificate, config.retry.tls_key, false);
    pair("edge", config.edge.tls_certificate, config.edge.tls_key, config.edge_self_signed);
}

}  // namespace

std::vector<ConfigFault> faults_of(const Config& config, Reader reader) {
    std::vector<ConfigFault> faults;
    check_together(config, faults);
    check_public_url(config, reader, faults);
    return faults;
}

}  // namespace beckon::cli
