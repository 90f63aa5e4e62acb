#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace beckon::log::embedded {

/// Notices that RocksDB, which reads its write-ahead files up to the first byte that is not as it
/// was written, has left out more than a crash explains. A power loss may interrupt the last write,
/// which nobody was told of; whatever stands behind another write was on the disk.
///
/// Opening a database removes the files that it has read. So this keeps a second name,
/// `<file>.damaged`, of those that may be damaged. What it found stands in the file DAMAGED of the
/// directory, a line each, until a person removes that file. One thread.
class DamageCheck {
public:
    /// Before the database is opened. Reads all write-ahead files. Throws std::runtime_error: a
    /// file may be damaged, and nothing can be kept of it.
    explicit DamageCheck(std::filesystem::path directory);

    /// What the opened database, and the caller, know of the last process.
    struct Facts {
        std::uint64_t last_sequence = 0;  ///< of RocksDB: as far as it has read
        bool clean = false;               ///< it stopped, and all is in tables
        bool same_boot = false;           ///< no power was lost since
        bool synced = false;              ///< it synced each batch with records
        bool whole_pages = false;         ///< it wrote files of whole pages
    };
    /// Once, after it was opened: logs and notes damage, or drops the second names.
    void opened(const Facts& facts);
    /// After it could not be opened: the files are still there under their own names.
    void not_opened();

private:
    struct Loss;
    bool may_be_damaged(const std::filesystem::path& file) const;
    Loss loss(const Facts& facts) const;
    void note(const std::string& text) const;

    const std::filesystem::path directory_;
    std::vector<std::filesystem::path> kept_;  ///< second names, the oldest file first
};

/// The lines of the file DAMAGED; empty if it is not there.
std::vector<std::string> noted_damage(const std::filesystem::path& directory);

}  // namespace beckon::log::embedded
