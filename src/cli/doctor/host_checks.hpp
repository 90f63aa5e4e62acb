#pragma once

#include "cli/config/config.hpp"
#include "cli/doctor/finding.hpp"
#include "core/clock.hpp"

#include <filesystem>
#include <optional>
#include <string>

/// What `beckon doctor` looks at on this host. Each changes nothing.
namespace beckon::cli {

/// What no single setting shows (`beckon config print` shows where each came from).
Finding check_configuration(const Config& config, Reader role);
/// Mode, free space, and who holds it.
Finding check_data(const std::filesystem::path& data);
/// That it can be read, by us and not by others.
Finding check_key_ring(const Config& config);
/// Whether a time service keeps the clock.
Finding check_clock();
/// Whether the limit of open files suffices for the clients that are configured.
Finding check_descriptors(std::size_t clients_wanted);

/// A certificate and its key, as PEM files.
struct CertificateFiles {
    std::string role;  ///< "endpoint"
    std::filesystem::path certificate;
    std::filesystem::path key;
};
/// That they can be read, belong together, and are valid now and for some time.
Finding check_certificate(const CertificateFiles& files, core::Timestamp now);

}  // namespace beckon::cli
