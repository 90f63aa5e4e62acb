#pragma once

#include "core/result.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace beckon::net {

struct SelfSignedOptions {
    /// Host names and IP addresses that the certificate is for; the first is its common name.
    std::vector<std::string> names{"localhost", "127.0.0.1", "::1"};
    std::chrono::days valid{825};
};

/// Writes a new EC P-256 key (mode 0600) and a certificate that it signed itself, both PEM. The
/// certificate is a server's and no authority: a client that trusts it trusts these names alone.
/// Existing files are replaced. Errors: invalid (no name), unavailable (cannot be written; the
/// message names the file and the reason).
core::Result<void> write_self_signed(const std::filesystem::path& certificate,
                                     const std::filesystem::path& key,
                                     const SelfSignedOptions& options);

/// The facts of the first certificate in a PEM file.
struct CertificateFacts {
    std::chrono::system_clock::time_point begins;
    std::chrono::system_clock::time_point expires;
    std::vector<std::string> names;  ///< its alternative names, addresses in their usual form
};
/// Errors: not_found (cannot be read, or is no file but a pipe, say, for which a reader would
/// wait), invalid (holds no certificate).
core::Result<CertificateFacts> read_certificate(const std::filesystem::path& file);

}  // namespace beckon::net
