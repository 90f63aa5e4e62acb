#include "app/installation/self_made_certificate.hpp"

#include "app/process/process.hpp"
#include "core/logger.hpp"
#include "net/self_signed.hpp"
#include "net/tls.hpp"

#include <algorithm>

namespace beckon::app {

namespace {

/// Restarts are seldom: one that comes so long before the end renews.
constexpr std::chrono::days kRenewBefore{90};

/// Why it must be made anew; empty: it is good.
std::string fault_of(const std::filesystem::path& certificate, const std::filesystem::path& key,
                     const std::vector<std::string>& names) {
    const auto facts = net::read_certificate(certificate);
    if (!facts || !std::filesystem::exists(key)) return "there is none";
    // A power cut may leave a part of either, or one that is older than the other.
    if (const auto pair = net::check({certificate, key}); !pair) return pair.error().message;
    if (facts->expires - kRenewBefore < std::chrono::system_clock::now()) return "it expires soon";
    for (const auto& name : names) {
        const auto& has = facts->names;
        if (std::ranges::find(has, name) == has.end()) return "it lacks the name " + name;
    }
    return {};
}

}  // namespace

void use_self_made_certificate(Config& config) {
    if (!config.endpoint_self_signed && !config.edge_self_signed) return;
    const auto directory = config.data / "tls";
    const auto certificate = directory / "certificate.pem";
    const auto key = directory / "key.pem";
    net::SelfSignedOptions options;
    options.names.insert(options.names.end(), config.certificate_names.begin(),
                         config.certificate_names.end());
    if (const auto why = fault_of(certificate, key, options.names); !why.empty()) {
        std::filesystem::create_directories(directory);
        must(net::write_self_signed(certificate, key, options));
        core::log_info("app", "certificate_made", {{"file", certificate.string()}, {"why", why}});
    }
    if (config.endpoint_self_signed) {
        config.endpoint.tls_certificate = certificate;
        config.endpoint.tls_key = key;
    }
    if (config.edge_self_signed) {
        config.edge.tls_certificate = certificate;
        config.edge.tls_key = key;
    }
}

}  // namespace beckon::app
