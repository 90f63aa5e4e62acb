#include "cli/process/node_name.hpp"

#include "core/ids.hpp"
#include "core/logger.hpp"

#include <fstream>
#include <system_error>

namespace beckon::cli {

namespace {

constexpr std::size_t kNameBytes = 16;

bool is_name(const std::string& text) {
    return text.size() == kNameBytes &&
           text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

std::string node_name(const std::filesystem::path& data) {
    const auto file = data / "node-name";
    std::string name;
    if (std::ifstream in{file}; in >> name && is_name(name)) return name;
    name = core::NodeId::random().text;
    auto fresh = file;
    fresh += ".new";
    std::ofstream out{fresh, std::ios::trunc};
    out << name << "\n" << std::flush;
    std::error_code failed;
    if (out) std::filesystem::rename(fresh, file, failed);
    if (!out || failed) core::log_warn("cli", "node_name_not_kept", {{"file", file.string()}});
    return name;
}

}  // namespace beckon::cli
