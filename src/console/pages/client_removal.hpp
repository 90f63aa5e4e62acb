#pragma once

#include "console/pages/client_presence.hpp"
#include "console/pages/finder.hpp"
#include "console/pages/search_workers.hpp"
#include "console/web/answer.hpp"

#include <string>

namespace beckon::console {

/// The act `remove` of a client's page: its home ends the client with its channels and messages
/// (docs/personal-data.md). Wanted: {"q": as Finder::find() has it}. Plan: {"does": [sentences],
/// "possible"}. Any thread.
class ClientRemoval {
public:
    /// Both outlive it.
    ClientRemoval(Finder& finder, const ClientPresence& homes) : finder_(finder), homes_(homes) {}

    /// Lives no longer than `workers`.
    Act act(SearchWorkers& workers);

private:
    Answer plan(const std::string& sought) const;
    Answer run(const std::string& sought, const std::string& by) const;

    Finder& finder_;
    const ClientPresence& homes_;
};

}  // namespace beckon::console
