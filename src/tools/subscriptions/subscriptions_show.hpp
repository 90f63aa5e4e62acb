#pragma once

#include "app/config/config.hpp"
#include "core/ids.hpp"
#include "inspect/store/client_state.hpp"

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

/// `beckon subscriptions show`: the present state of a client, from the log.
namespace beckon::tools {

/// The client that a person names, and of an endpoint URL its channel.
struct Whom {
    core::Uaid client;
    std::optional<core::ChannelId> channel;
};
/// Of a UAID or an endpoint URL. Throws StartupError: it names no client of this installation.
Whom parse_whom(const app::Config& config, const std::string& text);

/// Prints the client that a UAID or an endpoint URL names, with its channels and its waiting
/// messages; with `json` like `beckon replay state`. Whether it is connected now, where
/// and since when, comes from its home (ask_home()), in JSON as `connection` (null: not known). Of
/// an endpoint URL also the POSTs to it that endpoints refused of late, in JSON as `refused`.
/// Throws StartupError: it names no client of this installation, or the log cannot be read.
/// kNothingFound if the client is unknown or was removed.
int subscriptions_show(app::Config config, const std::string& whom, bool json);

/// Lines for people; `asked`: of an endpoint URL, its channel.
std::string state_text(const core::Uaid& client, const std::optional<core::ChannelId>& asked,
                       const inspect::ClientState& state);
/// One line for people. `page`: the answer of an edge about the client
/// (inspect/delivery/delivery_pages.hpp); discarded: none, for the reason `why_not`.
std::string connection_text(const nlohmann::json& page, const std::string& why_not);

}  // namespace beckon::tools
