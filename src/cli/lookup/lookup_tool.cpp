#include "cli/lookup/lookup_tool.hpp"

#include "cli/lookup/named.hpp"
#include "cli/process/key_ring_guard.hpp"
#include "cli/process/process.hpp"
#include "core/clock.hpp"
#include "core/log_names.hpp"
#include "core/tokens.hpp"

namespace beckon::cli {

int look_up(const Config& config, const std::string& url, std::ostream& out) {
    core::Tokens tokens{load_key_ring(config)};
    const auto named = open_name(tokens, url, core::SystemClock{}.wall());
    if (named && named->kind == NameKind::endpoint) {
        out << "client=" << core::log_name(named->client)
            << " channel=" << core::to_dashed(*named->channel) << "\n";
        return 0;
    }
    if (url.find("/wpush/") != std::string::npos) {
        throw StartupError("not an endpoint URL of this installation: " + url);
    }
    if (!named || named->kind != NameKind::message) {
        throw StartupError("not a message of this installation: " + url);
    }
    out << "message=" << core::log_name(*named->message)
        << " client=" << core::log_name(named->client) << "\n";
    return 0;
}

}  // namespace beckon::cli
