#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace beckon::app {

/// The command that runs `binary` again, as a person in `directory` types it: its name where the
/// search path `path` (PATH) finds it first, else its path, relative where it is below `directory`.
std::string command_for(const std::filesystem::path& binary, const std::filesystem::path& directory,
                        std::string_view path);
/// The command for this process's binary, in its working directory.
std::string own_command();

}  // namespace beckon::app
