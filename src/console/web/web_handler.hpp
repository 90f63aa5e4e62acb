#pragma once

#include "console/web/live_pages.hpp"
#include "console/web/login.hpp"
#include "console/web/web_server.hpp"
#include "core/lifetime.hpp"
#include "net/http/http_message.hpp"
#include "net/http/http_server.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::console {

/// The files of src/console/app as one document, which CMake puts into the binary.
std::string_view app_document();

/// The caller's right to see the pages: no login is needed, it is logged in, or it is not.
enum class Session : std::uint8_t { open, in, out };

/// The document at `/`: the app, with the state of the browser's session, and a content security
/// policy that allows this one script and style and no other. Immutable.
class AppPage {
public:
    struct Document {
        std::string bytes;
        std::string etag;  ///< with its quotes
    };

    /// Throws std::runtime_error if the document is not one of the app.
    explicit AppPage(std::string_view document);

    const Document& of(Session session) const {
        return documents_[static_cast<std::size_t>(session)];
    }
    /// For the header Content-Security-Policy.
    const std::string& policy() const { return policy_; }

private:
    std::array<Document, 3> documents_;
    std::string policy_;
};

/// Handles the requests of the console's port, without its sockets: admission, routes, and answers
/// that come later. The loop's thread.
class WebHandler final : public net::HttpHandler {
public:
    /// A stream sends something within two of these.
    static constexpr std::chrono::seconds kBeat{5};

    /// `token` empty: no login, and only requests that name this host are answered.
    WebHandler(const std::string& token, WebServer::Context context, core::Executor& loop);
    ~WebHandler() override;
    WebHandler(const WebHandler&) = delete;
    WebHandler& operator=(const WebHandler&) = delete;

    void handle(net::ExchangePtr exchange) override;
    net::HttpReply rejection(net::Rejection why) override;

private:
    /// Whether the caller may see the pages.
    enum class Admission : std::uint8_t { admitted, unknown, too_often };

    std::optional<net::HttpReply> refusal(const net::HttpRequest& request) const;
    std::optional<net::HttpReply> refusal_of_api(const net::HttpRequest& request);
    Admission admission_of(const net::HttpRequest& request);
    bool has_session(const net::HttpRequest& request) const;
    /// The session that a confirmation belongs to: the browser's, or the one of callers that send
    /// the token itself.
    std::string session_of(const net::HttpRequest& request) const;

    net::HttpReply route(const net::HttpRequest& request, std::string_view path);
    void route_api(net::ExchangePtr exchange, const net::Target& target);
    void route_act(net::ExchangePtr exchange, std::string_view name);

    net::HttpReply app(const net::HttpRequest& request);
    net::HttpReply log_in(const net::HttpRequest& request);
    net::HttpReply log_out(const net::HttpRequest& request);
    net::HttpReply page(std::string_view name) const;
    net::HttpReply stream(const net::HttpRequest& request, std::string_view query);
    void check(const std::string& name, const Act& act, net::ExchangePtr exchange);
    net::HttpReply reply_with(const Plan& plan, Login::Shown shown);
    void run(const std::string& name, const Act& act, net::ExchangePtr exchange);

    bool is_full() const { return kept_.size() >= WebServer::kAskedMax; }
    /// Keeps the exchange until its answer comes; the number names it.
    std::uint64_t keep(net::ExchangePtr exchange);
    Reply reply_to(std::uint64_t kept);
    void finish(std::uint64_t kept, net::HttpReply reply);
    void reply(const net::ExchangePtr& exchange, net::HttpReply reply) const;
    net::HttpReply secured(net::HttpReply reply) const;

    void tell_streams(void (LiveStream::*what)());
    void beat();

    const WebServer::Context context_;
    const AppPage app_{app_document()};
    core::Executor& loop_;
    Login login_;
    std::uint64_t last_kept_ = 0;
    std::map<std::uint64_t, net::ExchangePtr> kept_;  ///< at most kAskedMax
    std::list<std::weak_ptr<LiveStream>> streams_;
    std::size_t streams_open_ = 0;
    bool beating_ = false;
    /// A notification of the streams is on its way to this thread.
    std::atomic<bool> notifying_{false};
    core::Lifetime lifetime_;
};

}  // namespace beckon::console
