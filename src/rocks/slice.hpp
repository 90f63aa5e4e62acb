#pragma once

#include <string_view>

#include <rocksdb/slice.h>

namespace beckon::rocks {

inline rocksdb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view view(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace beckon::rocks
