#pragma once

#include "app/config/config.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace beckon::app {

/// A certificate that a process presents to others.
struct CertificateFile {
    /// "endpoint", "edge", "retry": of that port. "retry_client": shown to receivers of webhooks.
    /// "kafka": shown to brokers. (Links use a pre-shared key, and the console serves plain HTTP.)
    std::string of;
    std::filesystem::path file;
    /// Of "kafka": when the certificate of the process's start expires. Its clients go on with that
    /// one, whatever the file holds later.
    std::optional<std::chrono::system_clock::time_point> in_use;
};

/// The certificates of a process with the role: what metrics, log lines and the console watch.
std::vector<CertificateFile> certificates_of(const std::string& role, const Config& config);

/// When the certificate expires that the process presents; nullopt: its file cannot be read.
std::optional<std::chrono::system_clock::time_point> expiry_of(const CertificateFile& one);

}  // namespace beckon::app
