#pragma once

#include <cstddef>
#include <cstdint>

namespace beckon::rocks {

/// The CRC-32C of bytes with the checksum `crc`, followed by `size` bytes of `data`, by the
/// processor's instruction for it. Debian builds RocksDB for every processor of an architecture, so
/// that it computes each byte of a write-ahead file by tables: 1.7 % of a standalone's CPU with
/// messages of 300 bytes, and more with longer ones. The linker puts this function in the place of
/// rocksdb::crc32c::Extend() (`--wrap`, cmake/Dependencies.cmake). Any thread.
std::uint32_t crc32c(std::uint32_t crc, const char* data,
                     std::size_t size) __asm__("__wrap__ZN7rocksdb6crc32c6ExtendEjPKcm");

/// RocksDB's own.
std::uint32_t crc32c_by_tables(std::uint32_t crc, const char* data,
                               std::size_t size) __asm__("__real__ZN7rocksdb6crc32c6ExtendEjPKcm");

}  // namespace beckon::rocks
