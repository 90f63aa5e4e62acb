#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// A backup holds the file CHECKSUMS with the SHA-256 of each of its files, in the form of
/// sha256sum(1): `sha256sum -c CHECKSUMS` checks a copy without Beckon, and the first start on it
/// does so by itself.
namespace beckon::app {

inline constexpr const char* kChecksums = "CHECKSUMS";

struct Checksum {
    std::string sha256;          ///< in hex
    std::filesystem::path file;  ///< relative to the copy
};

/// In hex. Blocks. Throws StartupError: the file cannot be read.
std::string sha256_of(const std::filesystem::path& file);

/// Throws StartupError.
void write_checksums(const std::filesystem::path& copy, const std::vector<Checksum>& sums);

/// Before the first use of a data directory that was a backup: checks its files, then removes
/// CHECKSUMS, since they change from now on. Stores that are in it were folded from a log that went
/// on, and are set aside. Nothing in any other directory. Blocks for as long as it takes to read
/// all. Throws core::SetupError that names a file of the log that is missing, differs, or is not of
/// the backup.
void accept_copy(const std::filesystem::path& data);

}  // namespace beckon::app
