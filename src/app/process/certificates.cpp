#include "app/process/certificates.hpp"

#include <optional>

namespace beckon::app {

std::vector<CertificateFile> certificates_of(const std::string& role, const Config& config) {
    std::vector<CertificateFile> files;
    const auto add = [&](const char* of, const std::optional<std::filesystem::path>& file) {
        if (file) files.push_back({of, *file});
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
    if (found != config.kafka.librdkafka.end()) add("kafka", found->second);
    return files;
}

}  // namespace beckon::app
