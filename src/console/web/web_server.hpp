#pragma once

#include "console/web/answer.hpp"
#include "console/web/live_pages.hpp"
#include "core/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace beckon::console {

struct WebConfig {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8085;  ///< 0: any free one
    /// Empty: no login, and then only requests for localhost or a loopback address are answered.
    std::string token;
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
