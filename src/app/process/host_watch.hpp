#pragma once

#include "core/clock.hpp"
#include "core/shortage.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <thread>
#include <vector>

namespace beckon::app {

/// Notices that something of the host runs out: space on the disk of the data directory, and the
/// time of certificates. Logs a line when the disk becomes short of space and one when it no longer
/// is, and one a day for each certificate that ends soon.
class HostWatch {
public:
    static constexpr std::chrono::hours kCertificateLineEvery{24};

    explicit HostWatch(const core::Clock& clock) : clock_(clock) {}

    /// `free` of `size` bytes are free on the disk of `data`.
    void disk(const std::filesystem::path& data, double free, double size);
    /// Reads the file. One that cannot be read, or is not valid yet, is for others to say.
    void certificate(const std::filesystem::path& file);

private:
    const core::Clock& clock_;
    bool filling_ = false;
    std::map<std::filesystem::path, core::MonoTime> next_line_;  ///< of a certificate
};

/// Checks as long as this lives.
class HostWatcher {
public:
    static constexpr std::chrono::seconds kEvery{10};

    HostWatcher(const core::Clock& clock, std::filesystem::path data,
                std::vector<std::filesystem::path> certificates);

private:
    std::jthread thread_;
};

}  // namespace beckon::app
