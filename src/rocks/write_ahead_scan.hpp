#pragma once

#include "core/result.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

namespace beckon::rocks {

/// Bytes of a write-ahead file that are no whole batch.
struct WriteAheadGap {
    enum class Kind : std::uint8_t {
        zeros,       ///< nothing but zeros
        unfinished,  ///< a batch whose end is not there: as a write leaves it that was interrupted
        wrong,       ///< a batch whose end is there, with a checksum that is wrong
    };
    Kind kind = Kind::zeros;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// A batch as RocksDB wrote it, with a right checksum.
struct WriteAheadBatch {
    std::uint64_t first = 0;  ///< its first sequence number
    std::uint64_t last = 0;
    std::string_view bytes;  ///< as rocksdb::WriteBatch takes them; valid during the call
    std::optional<WriteAheadGap> before;  ///< between it and the batch before it
};

/// Reads a write-ahead file as RocksDB writes it (7.8), and goes on behind damage where RocksDB
/// ends, so that what it leaves out can be seen. Calls `each` with each whole batch. Returns the
/// gap at the file's end; none if the file ends with a batch. Errors: unavailable. Blocks.
core::Result<std::optional<WriteAheadGap>> scan_write_ahead_file(
    const std::filesystem::path& file, const std::function<void(const WriteAheadBatch&)>& each);

}  // namespace beckon::rocks
