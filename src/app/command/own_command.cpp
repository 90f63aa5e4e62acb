#include "app/command/own_command.hpp"

#include <cstdlib>
#include <system_error>

namespace beckon::app {

namespace fs = std::filesystem;

namespace {

/// Whether the first file of that name in the directories of PATH is the binary.
bool is_first_in(std::string_view path, const fs::path& binary) {
    while (!path.empty()) {
        const auto end = path.find(':');
        const auto candidate = fs::path{path.substr(0, end)} / binary.filename();
        std::error_code error;
        if (fs::exists(candidate, error)) return fs::equivalent(candidate, binary, error);
        path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
    }
    return false;
}

}  // namespace

std::string command_for(const fs::path& binary, const fs::path& directory, std::string_view path) {
    if (is_first_in(path, binary)) return binary.filename().string();
    const auto relative = binary.lexically_relative(directory);
    const bool is_below = !relative.empty() && *relative.begin() != "..";
    if (!is_below) return binary.string();
    return relative.has_parent_path() ? relative.string() : "./" + relative.string();
}

std::string own_command() {
    std::error_code error;
    const auto binary = fs::read_symlink("/proc/self/exe", error);
    const auto directory = fs::current_path(error);
    const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
    if (error || binary.empty()) return "beckon";
    return command_for(binary, directory, path != nullptr ? path : "");
}

}  // namespace beckon::app
