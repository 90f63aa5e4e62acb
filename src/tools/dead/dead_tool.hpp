#pragma once

#include "client/api_client.hpp"

#include <cstddef>
#include <string>
#include <vector>

/// The command `beckon dead`: asks the API and prints its answer. Exit codes: 0; 1 with one line on
/// standard error; 3 where a redrive or drop finds nothing that matches.
namespace beckon::tools {

/// Selects dead letters; an empty field selects all.
struct DeadWanted {
    std::vector<std::string> ids;
    std::string webhook;
    std::string type;
    std::string reason;
    std::string since;
    std::string before;
    std::size_t limit = 100;  ///< of a list; 0: all
    bool json = false;        ///< of a list: a JSON object in each line
};

int list_dead(client::ApiClient& api, const DeadWanted& wanted);
int show_dead(client::ApiClient& api, const std::string& id);

struct SettleDead {
    bool yes = false;  ///< without it nothing is changed
    int rate = 100;    ///< a second
    std::size_t limit = 0;
};
/// `action`: redrive or drop.
int settle_dead(client::ApiClient& api, const std::string& action, const DeadWanted& wanted,
                const SettleDead& how);

}  // namespace beckon::tools
