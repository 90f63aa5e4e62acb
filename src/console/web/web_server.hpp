#pragma once

#include "console/web/live_pages.hpp"
#include "console/web/web_config.hpp"
#include "core/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::console {

/// The answer to a query of the app; `status` is HTTP's.
struct Answer {
    int status = 200;
    std::string json;
};
/// The answer {"error": `why`}.
Answer refused(int status, std::string_view why);
/// Takes an answer, from any thread. Only the first counts; if all copies are destroyed without
/// one, the answer is 503.
using Reply = std::function<void(Answer)>;
/// Of a query string, by name.
using Parameters = std::map<std::string, std::string>;
/// Called on the port's thread, which it must not block; replies then or later.
using Ask = std::function<void(const Parameters&, Reply)>;

/// The plan of an act.
struct Plan {
    Answer answer;
    /// The order to confirm; none: there is nothing to do. At most kOrderBytesMax.
    std::optional<std::string> order = std::nullopt;
};
/// Something that changes the installation. Both are called as an Ask.
struct Act {
    /// Makes the plan, and changes nothing.
    std::function<void(const std::string& wanted, std::function<void(Plan)>)> check;
    /// Executes a plan of `check`. `by`: the address of the person who confirmed it, for the log.
    std::function<void(const std::string& order, const std::string& by, Reply)> run;
};

/// The console's port: the app, its pages as JSON, and their changes as server-sent events.
/// Only acts change anything; they need a login and the confirmation of a plan that this session
/// was shown a short while ago (decision 0145).
///
///   /                  the app, one document, which shows whether this is a session
///   /login, /logout    POST: {"token": …}; begins and ends a session
///   /api/pages/<name>  a page as it is now; 404 if there is none, 503 if it is not known yet
///   /api/live?pages=…  text/event-stream: `event: <name>`, `data: <page>`
///   /api/<query>?…      the answer of its Ask
///   /api/acts/<act>/check   POST: {"plan": the answer of Act::check, "confirmation": a text}
///   /api/acts/<act>         POST: {"confirmation": …}; the answer of Act::run
///
/// One thread serves all connections (`console-http-0`), and nothing on it waits.
class WebServer {
public:
    /// A further connection closes the one that has waited longest for its peer.
    static constexpr std::size_t kConnectionsMax = 128;
    static constexpr std::size_t kStreamsMax = 64;
    /// Queries and acts that are not answered yet; more are refused.
    static constexpr std::size_t kAskedMax = 64;
    static constexpr std::size_t kBodyBytesMax = 4'096;
    static constexpr std::size_t kOrderBytesMax = 1'024;

    struct Context {
        LivePages& pages;
        const core::Clock& clock;
        std::map<std::string, Ask> queries = {};  ///< by name
        std::map<std::string, Act> acts = {};     ///< by name
    };
    /// Throws std::runtime_error naming host, port and cause. The references of the context outlive
    /// it.
    WebServer(const WebConfig& config, Context context);
    ~WebServer();
    WebServer(const WebServer&) = delete;
    WebServer& operator=(const WebServer&) = delete;

    std::uint16_t port() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::console
