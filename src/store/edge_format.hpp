#pragma once

#include "core/result.hpp"
#include "store/types.hpp"

#include <filesystem>
#include <string_view>

namespace beckon::store {

/// Kind and version of an edge store's rows (schema.hpp), and the layout of its message families.
/// Count up with every change that an older build would read wrongly: such a store is set aside and
/// rebuilt.
std::string_view format_of(Rotation rotation);

/// How the store in a directory that no process has open is laid out. Any thread. Errors, each with
/// the path: corrupt (damaged, or not a store that this build reads), unavailable.
core::Result<Rotation> stored_rotation(const std::filesystem::path& directory);

}  // namespace beckon::store
