#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace rocksdb {
class Env;
}

namespace beckon::rocks {

/// How far the database in a directory has come, in our file HIGH_WATER beside RocksDB's
/// (docs/formats/high-water-mark.md). RocksDB takes the end of a manifest that was cut, and a
/// write-ahead file that is gone, for the end of all there was: it then opens an older state, or
/// one with a gap, and reports nothing.
///
/// The mark is written after the bytes that it vouches for are on the disk, and they never become
/// fewer. So a crash, a power loss or a full disk leaves a mark that is too low at most, which
/// is still true; and so does a build that does not know the file, since it goes on with files of
/// higher numbers. Any thread; outlives the database.
class HighWaterMark {
public:
    struct Options {
        std::filesystem::path directory;  ///< is there
        rocksdb::Env* env = nullptr;      ///< how the files are reached; not null
        /// Whether wrote() is called. The names of write-ahead files are then synced as well.
        bool marks_writes = false;
        /// Of the kernel: writes that were not synced count in the boot of their process alone.
        /// Empty: unknown, and they never count.
        std::string boot_id{};
    };

    explicit HighWaterMark(const Options& options);
    ~HighWaterMark();
    HighWaterMark(const HighWaterMark&) = delete;
    HighWaterMark& operator=(const HighWaterMark&) = delete;

    /// The database is opened with it, so that the mark follows its manifest.
    rocksdb::Env* env() const;

    /// Before the database is opened: the file that is missing, or is not as it was; "": none.
    std::string missing_files() const;
    /// Once it is open and its last sequence number is `sequence`: how many of its writes are
    /// missing.
    std::uint64_t missing_writes(std::uint64_t sequence) const;

    /// Writes up to `sequence` are in the write-ahead files; `synced`: on the disk.
    void wrote(std::uint64_t sequence, bool synced);
    /// All writes, up to `sequence`, are in tables: no write-ahead file is needed before the next
    /// wrote().
    void flushed(std::uint64_t sequence);

private:
    class Files;
    const std::shared_ptr<Files> files_;
    const std::unique_ptr<rocksdb::Env> env_;
};

}  // namespace beckon::rocks
