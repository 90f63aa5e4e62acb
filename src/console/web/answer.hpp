#pragma once

#include "core/result.hpp"
#include "net/http/http_message.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::console {

/// The answer to a query of the app.
struct Answer {
    int status = net::kOk;
    std::string json;
};
/// The answer {"error": `why`}.
Answer refused(int status, std::string_view why);
/// Of a query that could not be answered from the log: 404 where that has nothing of it, else 503.
Answer refused(const core::Error& error);
/// Takes an answer, from any thread. Only the first counts; if all copies are destroyed without
/// one, the answer is 503.
using Reply = std::function<void(Answer)>;
/// Of a query string, by name.
using Parameters = std::map<std::string, std::string, std::less<>>;
/// Called on the port's thread, which it must not block; replies then or later.
using Ask = std::function<void(const Parameters&, Reply)>;

/// The plan of an act.
struct Plan {
    Answer answer;
    /// The order to confirm, which is executed once; none: there is nothing to do.
    std::optional<std::string> order = std::nullopt;
};
/// Something that changes the installation. Both are called as an Ask.
struct Act {
    /// Makes the plan, and changes nothing.
    std::function<void(const std::string& wanted, std::function<void(Plan)>)> check;
    /// Executes a plan of `check`. `by`: the address of the person who confirmed it, for the log.
    std::function<void(const std::string& order, const std::string& by, Reply)> run;
};

}  // namespace beckon::console
