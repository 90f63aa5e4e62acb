#pragma once

#include "app/config/config.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace beckon::app {

/// A certificate that a process presents to others.
struct CertificateFile {
    /// "endpoint", "edge", "retry": of that port. "retry_client": shown to receivers of webhooks.
    /// "kafka": shown to brokers. (Links use a pre-shared key, and the console serves plain HTTP.)
    std::string of;
    std::filesystem::path file;
};

/// The certificates of a process with the role: what metrics, log lines and the console watch.
std::vector<CertificateFile> certificates_of(const std::string& role, const Config& config);

}  // namespace beckon::app
