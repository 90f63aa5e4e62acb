#pragma once

#include "app/config/config.hpp"
#include "core/clock.hpp"
#include "tools/doctor/finding.hpp"

#include <filesystem>
#include <string>

/// The checks of `beckon doctor` on this host. Each changes nothing.
namespace beckon::tools {

/// Faults that no single setting shows (`beckon config print` shows the origin of each setting).
Finding check_configuration(const app::Config& config, app::Reader role);
/// The directory's mode, its free space, and the process that holds it.
Finding check_data(const std::filesystem::path& data);
/// That this process can read it, and other users cannot.
Finding check_key_ring(const app::Config& config);
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

}  // namespace beckon::tools
