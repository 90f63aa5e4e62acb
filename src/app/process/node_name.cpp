#include "app/process/node_name.hpp"

#include "client/private_file.hpp"
#include "core/ids.hpp"
#include "core/logger.hpp"

namespace beckon::app {

namespace {

constexpr std::size_t kNameBytes = 16;

bool is_name(const std::string& text) {
    return text.size() == kNameBytes &&
           text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

std::string node_name(const std::filesystem::path& data) {
    const auto file = data / "node-name";
    const auto kept = client::read_text_file(file);
    if (kept && is_name(*kept)) return *kept;
    auto name = core::NodeId::random().text;
    const auto written = client::write_private_file(file, name);
    if (!written) core::log_warn("app", "node_name_not_kept", {{"why", written.error().message}});
    return name;
}

}  // namespace beckon::app
