#pragma once

#include "core/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace beckon::rocks {

/// Makes the directory, with those above it, for its owner alone (0700) unless it is there. Errors,
/// with the path: full, unavailable (it cannot be made, or not be written to).
core::Result<void> make_directory(const std::filesystem::path& directory);

/// Renames the directory to `<directory>.set-aside-<n>`, removes what was set aside before but for
/// the newest one, and logs that with the reason in one line. Errors: unavailable.
core::Result<void> set_aside(const std::filesystem::path& directory, std::string_view why);

/// " (pid 123)": the process that holds the database's lock, if the system names it (it does not
/// for this process itself); otherwise "".
std::string lock_holder(const std::filesystem::path& directory);

}  // namespace beckon::rocks
