#pragma once

#include "console/web/live_pages.hpp"
#include "console/web/web_config.hpp"
#include "core/clock.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace beckon::console {

/// What a question of the app is answered; `status` is HTTP's.
struct Answer {
    int status = 200;
    std::string json;
};
/// Of a query string, by name.
using Parameters = std::map<std::string, std::string>;
/// Called on any of the server's threads, several at a time.
using Ask = std::function<Answer(const Parameters&)>;

/// What an act would do.
struct Plan {
    Answer answer;
    /// What is to be confirmed; none: nothing can be done. At most kOrderBytesMax.
    std::optional<std::string> order = std::nullopt;
};
/// Something that changes the installation. Both are called on any of the server's threads.
struct Act {
    /// Says what it would do, and changes nothing.
    std::function<Plan(const std::string& wanted)> check;
    /// Does what a plan of `check` said. `by`: the address of who confirmed it, for the log.
    std::function<Answer(const std::string& order, const std::string& by)> run;
};

/// The console's port: the app, its pages as JSON, and their changes as server-sent events.
/// Nothing here changes anything but acts, which need a login and the confirmation of a plan that
/// this session was shown a short while ago (decision 0145).
///
///   /                  the app, one document, which says whether this is a session
///   /login, /logout    POST: {"token": …}; sets and removes the session
///   /api/pages/<name>  a page as it is now; 404 if there is none, 503 if it is not known yet
///   /api/live?pages=…  text/event-stream: `event: <name>`, `data: <page>`
///   /api/<question>?…  what its Ask answers
///   /api/acts/<act>/check   POST: {"plan": what Act::check answers, "confirmation": a text}
///   /api/acts/<act>         POST: {"confirmation": …}; what Act::run answers
///
/// cpp-httplib keeps a thread for each connection, so threads, waiting connections, streams, bodies
/// and times are all bounded.
class WebServer {
public:
    static constexpr std::size_t kThreads = 24;
    static constexpr std::size_t kStreamsMax = 12;
    static constexpr std::size_t kConnectionsWaitingMax = 64;
    static constexpr std::size_t kBodyBytesMax = 4'096;
    static constexpr std::size_t kOrderBytesMax = 1'024;

    struct Context {
        LivePages& pages;
        const core::Clock& clock;
        std::map<std::string, Ask> questions = {};  ///< by name
        std::map<std::string, Act> acts = {};       ///< by name
    };
    /// Throws std::runtime_error naming host, port and cause. The context outlives it.
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
