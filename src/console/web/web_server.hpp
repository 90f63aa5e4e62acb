#pragma once

#include "console/web/live_pages.hpp"
#include "core/clock.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace beckon::console {

struct WebConfig {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8085;  ///< 0: any free one
    /// Empty: no login, and then only requests that name this host as the local one are answered.
    std::string token;
};

/// What a question of the app is answered; `status` is HTTP's.
struct Answer {
    int status = 200;
    std::string json;
};
/// Called on any of the server's threads, several at a time.
using Find = std::function<Answer(const std::string& text)>;

/// The console's port: the app, its pages as JSON, and their changes as server-sent events. Nothing
/// here changes anything, so every method but GET is for the login alone.
///
///   /                  the app
///   /login, /logout    POST: {"token": …}; sets and removes the session
///   /api/session       {"login": whether a token is needed, "in": whether this is a session}
///   /api/pages/<name>  a page as it is now; 404 if there is none, 503 if it is not known yet
///   /api/live?pages=…  text/event-stream: `event: <name>`, `data: <page>`
///   /api/find?q=…      what Find answers
///
/// cpp-httplib keeps a thread for each connection, so threads, waiting connections, streams, bodies
/// and times are all bounded.
class WebServer {
public:
    static constexpr std::size_t kThreads = 24;
    static constexpr std::size_t kStreamsMax = 12;
    static constexpr std::size_t kConnectionsWaitingMax = 64;
    static constexpr std::size_t kBodyBytesMax = 4'096;

    struct Context {
        LivePages& pages;
        const core::Clock& clock;
        Find find;
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
