#pragma once

#include "app/config/config.hpp"
#include "core/ids.hpp"
#include "inspect/store/client_state.hpp"

#include <string>

/// `beckon subscriptions show`: the present state of a client, from the log.
namespace beckon::tools {

/// Prints the client that a UAID or an endpoint URL names, with its channels and its waiting
/// messages; with `json` like `beckon replay state`. Throws StartupError: it names no client of
/// this installation, or the log cannot be read. kNothingFound if the client is unknown or was
/// removed.
int subscriptions_show(app::Config config, const std::string& whom, bool json);

/// Lines for people; `asked`: of an endpoint URL, its channel.
std::string state_text(const core::Uaid& client, const std::optional<core::ChannelId>& asked,
                       const inspect::ClientState& state);

}  // namespace beckon::tools
