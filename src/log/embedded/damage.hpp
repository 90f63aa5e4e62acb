#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace beckon::log::embedded {

/// Second names, `<file>.damaged`, of the write-ahead files while a database is opened: RocksDB
/// removes the files that it has read, also those that it has read in part. The names go with this,
/// unless writes were missing. One thread.
class KeptFiles {
public:
    explicit KeptFiles(std::filesystem::path directory);
    ~KeptFiles();
    KeptFiles(const KeptFiles&) = delete;
    KeptFiles& operator=(const KeptFiles&) = delete;

    /// So many writes that had been on the disk were not read. Logs that, and writes it as a line
    /// into the file DAMAGED of the directory, which stays until a person removes it.
    void note_missing(std::uint64_t writes);

private:
    const std::filesystem::path directory_;
    std::vector<std::filesystem::path> files_;
};

/// The lines of the file DAMAGED; empty if it is not there.
std::vector<std::string> noted_damage(const std::filesystem::path& directory);

}  // namespace beckon::log::embedded
