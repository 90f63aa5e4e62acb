#include "cli/lookup/lookup_tool.hpp"

#include "cli/roles/key_ring_guard.hpp"
#include "cli/roles/process.hpp"
#include "core/clock.hpp"
#include "core/log_names.hpp"
#include "core/tokens.hpp"

namespace beckon::cli {

namespace {

/// `/wpush/v1/` and `/wpush/v2/` name the form of their token.
core::Tokens::Form form_of(const std::string& url) {
    if (url.find("/wpush/v1/") != std::string::npos) return core::Tokens::Form::v1;
    if (url.find("/wpush/v2/") != std::string::npos) return core::Tokens::Form::v2;
    return core::Tokens::Form::any;
}

}  // namespace

int look_up(const Config& config, const std::string& url, std::ostream& out) {
    core::Tokens tokens{load_key_ring(config)};
    const auto token = url.substr(url.rfind('/') + 1);
    if (url.find("/wpush/") != std::string::npos) {
        const auto endpoint = tokens.open_endpoint(token, form_of(url), core::SystemClock{}.wall());
        if (!endpoint) throw StartupError("not an endpoint URL of this installation: " + url);
        out << "client=" << core::log_name(endpoint->uaid)
            << " channel=" << core::to_dashed(endpoint->channel) << "\n";
        return 0;
    }
    const auto message = tokens.open_message(token);
    if (!message) throw StartupError("not a message of this installation: " + url);
    out << "message=" << core::log_name(message->key) << " client=" << core::log_name(message->uaid)
        << "\n";
    return 0;
}

}  // namespace beckon::cli
