#include "cli/ws_url.hpp"

namespace beckon::cli {

core::Result<client::Url> parse_ws_url(const std::string& text) {
    auto url = client::parse_url(text);
    if (url && !url->scheme.starts_with("ws")) {
        return core::fail(core::Fault::invalid, "'" + text + "' must begin with ws:// or wss://");
    }
    return url;
}

}  // namespace beckon::cli
