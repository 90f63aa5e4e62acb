#include "console/web/web_server.hpp"

#include "console/web/app_page.hpp"
#include "console/web/bounded_pool.hpp"
#include "console/web/login.hpp"
#include "core/logger.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>

#include <nlohmann/json.hpp>
#include <sys/socket.h>

namespace beckon::console {

namespace {

using httplib::Request;
using httplib::Response;
using HandlerResponse = httplib::Server::HandlerResponse;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kBacklog = 128;
constexpr std::size_t kRequestsPerConnection = 200;
constexpr seconds kKeepAlive{2};
constexpr seconds kRead{5};
constexpr seconds kWrite{5};
constexpr std::size_t kHeadersMax = 100;
constexpr std::size_t kQueryBytesMax = 2'048;
constexpr std::size_t kPagesMax = 16;
/// How often a stream looks whether its reader is still there, and what it then sends.
constexpr milliseconds kLook{500};
constexpr seconds kBeat{5};
constexpr const char* kCookie = "beckon_console";
constexpr const char* kJson = "application/json";
constexpr const char* kActs = "/api/acts/";
constexpr int kOk = 200;

/// Besides the policy of the app's page.
constexpr std::array<std::pair<const char*, const char*>, 5> kSecurityHeaders{{
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
}};

/// What cpp-httplib keeps to itself.
class Server final : public httplib::Server {
public:
    /// It listens with a backlog of 5.
    void widen_backlog() { ::listen(svr_sock_, kBacklog); }
};

/// As it stands: cpp-httplib compresses what it is given as a content, anew for each request and
/// with Brotli at its slowest level, which a file of 10 KB waits 50 ms for
/// (docs/decisions/0145-the-console-shows-all-and-acts-on-what-it-has-shown.md). `owner` keeps the bytes.
void send_plain(Response& reply, std::string_view bytes, const std::string& type,
                std::shared_ptr<const std::string> owner) {
    reply.set_content_provider(bytes.size(), type,
                               [bytes, kept = std::move(owner)](std::size_t from, std::size_t count,
                                                                httplib::DataSink& sink) {
                                   return sink.write(bytes.data() + from, count);
                               });
}

void json_reply(Response& reply, int status, std::shared_ptr<const std::string> text) {
    reply.status = status;
    reply.set_header("Cache-Control", "no-store");
    const std::string_view bytes{*text};
    send_plain(reply, bytes, kJson, std::move(text));
}

void json_reply(Response& reply, int status, std::string text) {
    json_reply(reply, status, std::make_shared<const std::string>(std::move(text)));
}

void error_reply(Response& reply, int status, const std::string& why) {
    json_reply(reply, status, nlohmann::json{{"error", why}}.dump());
}

/// The host of a Host header, without its port.
std::string_view host_of(std::string_view header) {
    if (header.starts_with('[')) return header.substr(0, header.find(']') + 1);
    return header.substr(0, header.find(':'));
}

bool is_local(std::string_view host) {
    return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

std::optional<std::string> cookie_of(const Request& request) {
    const auto header = request.get_header_value("Cookie");
    const auto begin = header.find(std::string{kCookie} + "=");
    if (begin == std::string::npos) return std::nullopt;
    const auto value = begin + std::string_view{kCookie}.size() + 1;
    return header.substr(value, header.find(';', value) - value);
}

std::vector<std::string> names_in(std::string_view list) {
    std::vector<std::string> names;
    while (!list.empty() && names.size() < kPagesMax) {
        const auto comma = std::min(list.find(','), list.size());
        if (comma > 0) names.emplace_back(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return names;
}

std::string event_text(const LivePages::News& news) {
    const std::string_view kind = news.whole ? "" : ".change";
    // JSON has no line ends of its own.
    return "event: " + news.name + std::string{kind} + "\ndata: " + *news.text + "\n\n";
}

}  // namespace

struct WebServer::Impl {
    Impl(const WebConfig& c, Context p)
        : config(c), context(std::move(p)), login(config.token, context.clock) {
        bound();
        route();
        listen();
        thread = std::thread{[this] {
            pthread_setname_np(pthread_self(), "console-accept");
            server.listen_after_bind();
            ended = true;
        }};
    }
    ~Impl() {
        context.pages.stop();
        // stop() does nothing before the thread has begun to accept.
        while (!server.is_running() && !ended) std::this_thread::yield();
        server.stop();
        thread.join();
    }

    void bound() {
        server.new_task_queue = [] { return new BoundedPool(kThreads, kConnectionsWaitingMax); };
        server.set_keep_alive_max_count(kRequestsPerConnection);
        server.set_keep_alive_timeout(kKeepAlive.count());
        server.set_read_timeout(kRead.count());
        server.set_write_timeout(kWrite.count());
        server.set_payload_max_length(kBodyBytesMax);
        server.set_tcp_nodelay(true);
        // Its own options let two processes share the port unnoticed.
        server.set_socket_options([](int socket) {
            const int yes = 1;
            ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        });
    }

    void listen() {
        const bool any = config.port == 0;
        const int got = any ? server.bind_to_any_port(config.host)
                        : server.bind_to_port(config.host, config.port) ? config.port
                                                                        : -1;
        if (got < 0) {
            throw std::runtime_error("the console (--console-port): cannot listen on " +
                                     config.host + ":" + std::to_string(config.port));
        }
        port = static_cast<std::uint16_t>(got);
        server.widen_backlog();
    }

    void route() {
        server.set_pre_routing_handler([this](const Request& request, Response& reply) {
            return refuse(request, reply) ? HandlerResponse::Handled : HandlerResponse::Unhandled;
        });
        server.set_post_routing_handler([this](const Request&, Response& reply) {
            reply.set_header("Content-Security-Policy", app.policy());
            for (const auto& [name, value] : kSecurityHeaders) reply.set_header(name, value);
        });
        server.set_exception_handler(
            [](const Request&, Response& reply, const std::exception_ptr&) {
                error_reply(reply, 500, "the console failed at this request");
            });
        server.Get("/", [this](const auto& q, auto& r) { serve_app(q, r); });
        server.Post("/login", [this](const auto& q, auto& r) { log_in(q, r); });
        server.Post("/logout", [](const auto&, auto& r) {
            r.set_header("Set-Cookie", std::string{kCookie} +
                                           "=; Path=/; Max-Age=0; HttpOnly; "
                                           "SameSite=Strict");
            json_reply(r, 200, "{}");
        });
        server.Get("/api/pages/([a-z]+)", [this](const auto& q, auto& r) { serve_page(q, r); });
        server.Get("/api/live", [this](const auto& q, auto& r) { stream(q, r); });
        for (const auto& [name, ask] : context.questions) {
            server.Get("/api/" + name, [&ask = ask](const auto& q, auto& r) { answer(ask, q, r); });
        }
        for (const auto& [name, act] : context.acts) {
            const auto path = "/api/acts/" + name;
            server.Post(path + "/check",
                        [this, &act = act](const auto& q, auto& r) { check(act, q, r); });
            server.Post(path, [this, name = name, &act = act](const auto& q, auto& r) {
                run(name, act, q, r);
            });
        }
    }

    /// Before a body is read.
    bool refuse(const Request& request, Response& reply) {
        if (request.headers.size() > kHeadersMax || request.target.size() > kQueryBytesMax) {
            return refused(reply, 431, "too many or too long headers");
        }
        if (request.method != "GET" && request.method != "HEAD" && request.method != "POST") {
            return refused(reply, 405, "only GET, HEAD and POST");
        }
        if (request.has_header("Transfer-Encoding")) {
            return refused(reply, 411, "a body needs its Content-Length");
        }
        const auto length = request.get_header_value("Content-Length");
        if (std::strtoull(length.c_str(), nullptr, 10) > kBodyBytesMax) {
            return refused(reply, 413, "the body is too large");
        }
        const auto host = request.get_header_value("Host");
        if (!login.needed() && !is_local(host_of(host))) {
            return refused(reply, 421,
                           "without a token (console.token_file) the console answers only to "
                           "localhost and addresses of this host");
        }
        if (request.method == "POST" && !same_origin(request)) {
            return refused(reply, 403, "another site may not ask this");
        }
        if (request.path.starts_with("/api/") && !allowed(request)) {
            return refused(reply, 401, "log in with the console's token");
        }
        return request.path.starts_with(kActs) && refuse_act(request, reply);
    }

    /// A form of another site can send neither this type nor, without the cookie, a session.
    bool refuse_act(const Request& request, Response& reply) {
        if (!login.needed()) {
            return refused(reply, 403,
                           "the console changes nothing without a login: set console.token_file");
        }
        if (!request.get_header_value("Content-Type").starts_with(kJson)) {
            return refused(reply, 415, "an act needs Content-Type: application/json");
        }
        return false;
    }

    static bool refused(Response& reply, int status, const std::string& why) {
        error_reply(reply, status, why);
        reply.set_header("Connection", "close");  // what else was sent is not read
        return true;
    }

    static bool same_origin(const Request& request) {
        const auto site = request.get_header_value("Sec-Fetch-Site");
        if (!site.empty()) return site == "same-origin" || site == "none";
        const auto origin = request.get_header_value("Origin");
        return origin.empty() || origin.ends_with("//" + request.get_header_value("Host"));
    }

    bool allowed(const Request& request) {
        if (!login.needed()) return true;
        if (const auto session = cookie_of(request); session && login.is_session(*session)) {
            return true;
        }
        constexpr std::string_view kBearer = "Bearer ";
        const auto header = request.get_header_value("Authorization");
        return header.starts_with(kBearer) &&
               login.try_token(header.substr(kBearer.size())) == Login::Answer::good;
    }

    void log_in(const Request& request, Response& reply) {
        const auto body = nlohmann::json::parse(request.body, nullptr, false);
        const auto token = body.is_object() && body.contains("token") && body["token"].is_string()
                               ? body["token"].get<std::string>()
                               : std::string{};
        switch (login.try_token(token)) {
            case Login::Answer::wrong: return error_reply(reply, 403, "this is not the token");
            case Login::Answer::too_often:
                return error_reply(reply, 429, "too many wrong tokens; wait a minute");
            case Login::Answer::good: break;
        }
        const bool tls = request.get_header_value("X-Forwarded-Proto") == "https";
        reply.set_header("Set-Cookie", std::string{kCookie} + "=" + login.new_session() +
                                           "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" +
                                           std::to_string(seconds{Login::kSession}.count()) +
                                           (tls ? "; Secure" : ""));
        json_reply(reply, 200, "{}");
    }

    /// A browser that has it asks whether it is still the same.
    void serve_app(const Request& request, Response& reply) {
        const auto session = !login.needed()    ? Session::open
                             : allowed(request) ? Session::in
                                                : Session::out;
        const auto& document = app.of(session);
        reply.set_header("ETag", document.etag);
        reply.set_header("Cache-Control", "no-cache");
        if (request.get_header_value("If-None-Match") == document.etag) {
            reply.status = 304;
            return;
        }
        send_plain(reply, document.bytes, "text/html; charset=utf-8", nullptr);
    }

    void serve_page(const Request& request, Response& reply) {
        const std::string name = request.matches[1];
        const auto text = context.pages.get(name);
        if (!text) return error_reply(reply, 503, "nothing is known of '" + name + "' (yet)");
        json_reply(reply, 200, text);
    }

    static void answer(const Ask& ask, const Request& request, Response& reply) {
        Parameters parameters;
        for (const auto& [name, value] : request.params) parameters.emplace(name, value);
        auto said = ask(parameters);
        json_reply(reply, said.status, std::move(said.json));
    }

    /// Whose confirmation it is: the browser's session, or whoever sends the token itself.
    static std::string session_of(const Request& request) {
        return cookie_of(request).value_or("the token");
    }

    void check(const Act& act, const Request& request, Response& reply) {
        auto plan = act.check(request.body);
        if (plan.answer.status != kOk) {
            return json_reply(reply, plan.answer.status, std::move(plan.answer.json));
        }
        const auto confirmation =
            plan.order ? nlohmann::json(login.confirmation(session_of(request), *plan.order))
                       : nlohmann::json();
        json_reply(
            reply, kOk,
            R"({"plan":)" + plan.answer.json + R"(,"confirmation":)" + confirmation.dump() + "}");
    }

    void run(const std::string& name, const Act& act, const Request& request, Response& reply) {
        const auto body = nlohmann::json::parse(request.body, nullptr, false);
        const auto given =
            body.is_object() ? body.value("confirmation", nlohmann::json()) : nlohmann::json();
        const auto order = given.is_string()
                               ? login.confirmed(session_of(request), given.get<std::string>())
                               : std::nullopt;
        if (!order) {
            core::log_warn("console", "act_refused", {{"act", name}, {"by", request.remote_addr}});
            return error_reply(reply, 409,
                               "this was not shown to you, or too long ago: check it again");
        }
        auto said = act.run(*order, request.remote_addr);
        json_reply(reply, said.status, std::move(said.json));
    }

    void stream(const Request& request, Response& reply) {
        if (streams.fetch_add(1) >= kStreamsMax) {
            --streams;
            return error_reply(reply, 503, "too many windows of the console are open");
        }
        const auto state = std::make_shared<Stream>();
        state->names = names_in(request.get_param_value("pages"));
        reply.set_header("Cache-Control", "no-store");
        reply.set_header("X-Accel-Buffering", "no");  // nginx would keep events back
        reply.set_chunked_content_provider(
            "text/event-stream",
            [this, state](std::size_t, httplib::DataSink& sink) { return feed(*state, sink); },
            [this](bool) { --streams; });
    }

    struct Stream {
        std::vector<std::string> names;
        LivePages::Seen seen;
        std::chrono::steady_clock::time_point spoke{};
    };

    /// One turn of a stream; false ends it.
    bool feed(Stream& one, httplib::DataSink& sink) {
        const auto changes = context.pages.changes(one.names, one.seen, kLook);
        if (context.pages.stopped() || !sink.is_writable()) return false;
        std::string text;
        for (const auto& news : changes) text += event_text(news);
        const auto now = std::chrono::steady_clock::now();
        if (text.empty() && now - one.spoke > kBeat) text = ": still here\n\n";
        if (text.empty()) return true;
        one.spoke = now;
        return sink.write(text.data(), text.size());
    }

    const WebConfig config;
    const Context context;
    const AppPage app{app_document()};
    Login login;
    Server server;
    std::atomic<std::size_t> streams{0};
    std::uint16_t port = 0;
    std::atomic<bool> ended{false};
    std::thread thread;
};

WebServer::WebServer(const WebConfig& config, Context context)
    : impl_(std::make_unique<Impl>(config, std::move(context))) {}

WebServer::~WebServer() = default;

std::uint16_t WebServer::port() const { return impl_->port; }

}  // namespace beckon::console
