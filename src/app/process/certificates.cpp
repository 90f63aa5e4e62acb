#include "app/process/certificates.hpp"

#include "net/self_signed.hpp"

namespace beckon::app {

std::vector<CertificateFile> certificates_of(const std::string& role, const Config& config) {
    std::vector<CertificateFile> files;
    const auto add = [&](const char* of, const std::optional<std::filesystem::path>& file) {
        if (file) files.push_back({of, *file, {}});
    };
    const auto plays = [&](const char* part) { return role == part || role == "standalone"; };
    if (plays("endpoint")) add("endpoint", config.endpoint.tls_certificate);
    if (plays("edge")) add("edge", config.edge.tls_certificate);
    if (plays("retry")) {
        add("retry", config.retry.tls_certificate);
        add("retry_client", config.retry.client_certificate);
    }
    if (role == "standalone") return files;
    const auto found = config.kafka.librdkafka.find("ssl.certificate.location");
    if (found == config.kafka.librdkafka.end()) return files;
    add("kafka", found->second);
    files.back().in_use = expiry_of(files.back());
    return files;
}

std::optional<std::chrono::system_clock::time_point> expiry_of(const CertificateFile& one) {
    if (one.in_use) return one.in_use;
    const auto facts = net::read_certificate(one.file);
    return facts ? std::optional{facts->expires} : std::nullopt;
}

}  // namespace beckon::app
