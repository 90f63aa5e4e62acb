#include "console/web/web_handler.hpp"

#include "core/ascii.hpp"
#include "core/base64url.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/list_text.hpp"
#include "core/logger.hpp"
#include "core/tokens.hpp"
#include "net/http/caller.hpp"
#include "net/http/http_message.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::console {

namespace {

using net::HeaderName;
using net::HttpReply;
using net::HttpRequest;
using net::Method;
using Json = nlohmann::json;

constexpr std::size_t kTargetBytesMax = 2'048;
constexpr std::size_t kPagesMax = 16;
constexpr std::string_view kCookie = "beckon_console";
constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kApi = "/api/";
constexpr std::string_view kPages = "/api/pages/";
constexpr std::string_view kLive = "/api/live";
constexpr std::string_view kActs = "/api/acts/";
constexpr std::string_view kCheck = "/check";

/// The pages of the API, whether anything is known of them yet or not.
constexpr std::array<std::string_view, 12> kPageNames{
    "status", "overview", "nodes",      "lag",      "lag_hour", "tiers",
    "dead",   "cluster",  "milestones", "webhooks", "senders",  "canary"};
/// Besides the policy of the app's page.
constexpr std::array<std::pair<std::string_view, const char*>, 5> kSecurityHeaders{{
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
}};

/// The names of the pages, for a sentence: "status, overview … and canary".
std::string page_list() {
    std::string list{kPageNames.front()};
    for (std::size_t i = 1; i < kPageNames.size(); ++i) {
        list += i + 1 < kPageNames.size() ? ", " : " and ";
        list += kPageNames[i];
    }
    return list;
}

HttpReply fresh_json(int status, std::string text) {
    auto reply = net::json_reply(status, std::move(text));
    reply.add("Cache-Control", "no-store");
    return reply;
}

HttpReply error_reply(int status, std::string_view why) {
    return fresh_json(status, refused(status, why).json);
}

HttpReply wrong_method(const char* allowed) {
    auto reply = error_reply(405, std::string{"here only "} + allowed);
    reply.add("Allow", allowed);
    return reply;
}

HttpReply too_many_asked() {
    return error_reply(net::kUnavailable, "too many queries at once; try again in a moment");
}

HttpReply not_found() { return error_reply(404, "there is nothing at this path"); }

bool reads(const HttpRequest& request) { return request.method == Method::get; }

std::string_view header(const HttpRequest& request, HeaderName name) {
    return request.headers.get(name).value_or("");
}

/// The value of our cookie among those of a browser (RFC 6265 §4.2).
std::optional<std::string_view> cookie_of(const HttpRequest& request) {
    auto rest = header(request, HeaderName::cookie);
    while (!rest.empty()) {
        const auto pair = core::trimmed(core::take_part(rest, ';'));
        const auto name = pair.substr(0, pair.find('='));
        if (name == kCookie && name.size() < pair.size()) return pair.substr(name.size() + 1);
    }
    return std::nullopt;
}

std::vector<std::string> names_in(std::string_view list) {
    std::vector<std::string> names;
    while (!list.empty() && names.size() < kPagesMax) {
        const auto name = core::take_part(list, ',');
        if (!name.empty()) names.emplace_back(name);
    }
    return names;
}

/// A '+' is a blank, as forms send it.
Parameters parameters_in(std::string_view query) {
    std::string text;
    for (const char c : query) text += c == '+' ? std::string{"%20"} : std::string{c};
    return net::query_by_name(text);
}

std::string session_cookie(const std::string& session, std::chrono::seconds age, bool secure) {
    return std::string{kCookie} + "=" + session +
           "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(age.count()) +
           (secure ? "; Secure" : "");
}

/// Passes a value that is given once, on any thread, to the loop; `otherwise` if it is never given.
template <class Value>
class OnceReply {
public:
    OnceReply(core::Lifetime::Remote loop, std::function<void(Value)> take, Value otherwise)
        : loop_(std::move(loop)), take_(std::move(take)), otherwise_(std::move(otherwise)) {}
    ~OnceReply() { give(std::move(otherwise_)); }
    OnceReply(const OnceReply&) = delete;
    OnceReply& operator=(const OnceReply&) = delete;

    void give(Value value) {
        if (given_.exchange(true)) return;
        loop_.post([take = take_, value = std::move(value)]() mutable { take(std::move(value)); });
    }

private:
    const core::Lifetime::Remote loop_;
    const std::function<void(Value)> take_;
    Value otherwise_;
    std::atomic<bool> given_{false};
};

Answer not_answered() { return refused(net::kUnavailable, "nobody has answered; try again"); }

/// A function that passes its argument to `take`, on the loop.
template <class Value>
std::function<void(Value)> once(const core::Lifetime& lifetime, std::function<void(Value)> take,
                                Value otherwise) {
    return [reply = std::make_shared<OnceReply<Value>>(lifetime.remote(), std::move(take),
                                                       std::move(otherwise))](Value value) {
        reply->give(std::move(value));
    };
}

}  // namespace

WebHandler::WebHandler(const std::string& token, WebServer::Context context, core::Executor& loop)
    : context_(std::move(context)), loop_(loop), login_(token, context_.clock), lifetime_(loop) {
    context_.pages.on_change([this, to_loop = lifetime_.remote()] {
        if (notifying_.exchange(true)) return;
        to_loop.post([this] {
            notifying_ = false;
            tell_streams(&LiveStream::notify);
        });
    });
}

WebHandler::~WebHandler() { context_.pages.on_change(nullptr); }

void WebHandler::handle(net::ExchangePtr exchange) {
    const auto& request = exchange->request();
    const auto target = net::split_target(request.target);
    if (auto refused = refusal(request)) return reply(exchange, std::move(*refused));
    if (!target.path.starts_with(kApi)) return reply(exchange, route(request, target.path));
    if (auto refused = refusal_of_api(request)) return reply(exchange, std::move(*refused));
    if (target.path.starts_with(kActs)) {
        return route_act(std::move(exchange), target.path.substr(kActs.size()));
    }
    route_api(std::move(exchange), target);
}

HttpReply WebHandler::rejection(net::Rejection why) {
    const auto [status, text] = net::rejection_text(why);
    return secured(error_reply(status, text));
}

std::optional<HttpReply> WebHandler::refusal(const HttpRequest& request) const {
    if (request.target.size() > kTargetBytesMax) {
        return error_reply(431, "more than 2,048 bytes of path and query");
    }
    if (!reads(request) && request.method != Method::post) return wrong_method("GET, POST");
    if (request.body_too_large) return error_reply(413, "a body has at most 4,096 bytes");
    const auto hosts = login_.needed() ? net::Hosts::any : net::Hosts::this_host;
    switch (net::judge_caller(request, hosts)) {
        case net::Caller::good: return std::nullopt;
        case net::Caller::foreign_site: break;
        case net::Caller::foreign_host:
            return error_reply(421,
                               "without a token (console.token_file) the console answers only to "
                               "localhost and loopback addresses");
    }
    return error_reply(403, "another site may not ask this");
}

std::optional<HttpReply> WebHandler::refusal_of_api(const HttpRequest& request) {
    switch (admission_of(request)) {
        case Admission::admitted: break;
        case Admission::unknown: return error_reply(401, "log in with the console's token");
        case Admission::too_often:
            return error_reply(429, "too many wrong tokens of this address; wait a minute");
    }
    if (!request.target.starts_with(kActs)) return std::nullopt;
    if (!login_.needed()) {
        return error_reply(403,
                           "the console changes nothing without a login: set console.token_file");
    }
    // A form of another site can send neither this type nor, without the cookie, a session.
    if (!header(request, HeaderName::content_type).starts_with(kJsonType)) {
        return error_reply(415, "an act needs Content-Type: application/json");
    }
    return std::nullopt;
}

WebHandler::Admission WebHandler::admission_of(const HttpRequest& request) {
    if (!login_.needed() || has_session(request)) return Admission::admitted;
    const auto token = core::bearer_token(header(request, HeaderName::authorization));
    if (!token) return Admission::unknown;
    switch (login_.try_token(*token, request.peer)) {
        case Login::Answer::good: return Admission::admitted;
        case Login::Answer::wrong: return Admission::unknown;
        case Login::Answer::too_often: break;
    }
    return Admission::too_often;
}

bool WebHandler::has_session(const HttpRequest& request) const {
    const auto session = cookie_of(request);
    return session && login_.is_session(*session);
}

std::string WebHandler::session_of(const HttpRequest& request) const {
    return has_session(request) ? std::string{*cookie_of(request)} : "the token";
}

HttpReply WebHandler::route(const HttpRequest& request, std::string_view path) {
    if (path == "/") return reads(request) ? app(request) : wrong_method("GET");
    if (path == net::kApiDocumentPath) {
        return reads(request) ? net::api_document_reply(net::console_api_document())
                              : wrong_method("GET");
    }
    const bool posts = request.method == Method::post;
    if (path == "/login") return posts ? log_in(request) : wrong_method("POST");
    if (path == "/logout") return posts ? log_out(request) : wrong_method("POST");
    return not_found();
}

void WebHandler::route_api(net::ExchangePtr exchange, const net::Target& target) {
    const auto& request = exchange->request();
    const auto query = context_.queries.find(std::string{target.path.substr(kApi.size())});
    const bool is_page = target.path.starts_with(kPages);
    const bool is_stream = target.path == kLive;
    if (query == context_.queries.end() && !is_page && !is_stream) {
        return reply(exchange, not_found());
    }
    if (!reads(request)) return reply(exchange, wrong_method("GET"));
    if (is_page) return reply(exchange, page(target.path.substr(kPages.size())));
    if (is_stream) return reply(exchange, stream(request, target.query));
    if (is_full()) return reply(exchange, too_many_asked());
    const auto kept = keep(std::move(exchange));
    query->second(parameters_in(target.query), reply_to(kept));
}

void WebHandler::route_act(net::ExchangePtr exchange, std::string_view name) {
    const auto& request = exchange->request();
    const bool checks = name.ends_with(kCheck);
    if (checks) name.remove_suffix(kCheck.size());
    const auto act = context_.acts.find(std::string{name});
    if (act == context_.acts.end()) return reply(exchange, not_found());
    if (request.method != Method::post) return reply(exchange, wrong_method("POST"));
    if (is_full()) return reply(exchange, too_many_asked());
    if (checks) return check(act->first, act->second, std::move(exchange));
    run(act->first, act->second, std::move(exchange));
}

/// A browser that has it asks whether it is still the same.
HttpReply WebHandler::app(const HttpRequest& request) {
    const auto session = !login_.needed()                               ? Session::open
                         : admission_of(request) == Admission::admitted ? Session::in
                                                                        : Session::out;
    const auto& document = app_.of(session);
    HttpReply reply;
    reply.add("ETag", document.etag);
    reply.add("Cache-Control", "no-cache");
    if (header(request, HeaderName::if_none_match) == document.etag) {
        reply.status = 304;
        return reply;
    }
    reply.add("Content-Type", "text/html; charset=utf-8");
    reply.body = document.bytes;
    return reply;
}

HttpReply WebHandler::log_in(const HttpRequest& request) {
    switch (login_.try_token(core::text_member(core::parse_json(request.body), "token"),
                             request.peer)) {
        case Login::Answer::wrong: return error_reply(403, "this is not the token");
        case Login::Answer::too_often:
            return error_reply(429, "too many wrong tokens of this address; wait a minute");
        case Login::Answer::good: break;
    }
    const bool tls = header(request, HeaderName::forwarded_proto) == "https";
    auto reply = fresh_json(net::kOk, "{}");
    reply.add("Set-Cookie", session_cookie(login_.new_session(), Login::kSession, tls));
    return reply;
}

HttpReply WebHandler::log_out(const HttpRequest& request) {
    if (const auto session = cookie_of(request)) login_.end_session(*session);
    loop_.post(lifetime_.guard(
        [this] { tell_streams(&LiveStream::notify); }));  // those of the session end
    auto reply = fresh_json(net::kOk, "{}");
    reply.add("Set-Cookie", session_cookie("", std::chrono::seconds{0}, false));
    return reply;
}

HttpReply WebHandler::page(std::string_view name) const {
    const auto text = context_.pages.get(std::string{name});
    if (text) return fresh_json(net::kOk, *text);
    if (std::ranges::find(kPageNames, name) == kPageNames.end()) {
        return error_reply(404, "there is no such page; there are " + page_list());
    }
    return error_reply(net::kUnavailable, "nothing is known of '" + std::string{name} + "' (yet)");
}

HttpReply WebHandler::stream(const HttpRequest& request, std::string_view query) {
    if (streams_open_ >= WebServer::kStreamsMax) {
        return error_reply(net::kUnavailable, "too many windows of the console are open");
    }
    LiveStream::Options options{.names = names_in(parameters_in(query)["pages"]),
                                .may_go_on = [] { return true; },
                                .ended = lifetime_.guard([this] { --streams_open_; })};
    if (has_session(request)) {
        options.may_go_on = [this, session = session_of(request)] {
            return login_.is_session(session);
        };
    }
    auto reply = net::reply_of(net::kOk, "text/event-stream", {});
    reply.add("Cache-Control", "no-store");
    reply.add("X-Accel-Buffering", "no");  // nginx would keep events back
    const auto made = std::make_shared<LiveStream>(context_.pages, std::move(options));
    ++streams_open_;
    streams_.push_back(made);
    if (!std::exchange(beating_, true)) {
        loop_.post_after(kBeat, lifetime_.guard([this] { beat(); }));
    }
    reply.stream = made;
    return reply;
}

void WebHandler::tell_streams(void (LiveStream::*what)()) {
    std::erase_if(streams_, [](const auto& stream) { return stream.expired(); });
    const auto all = streams_;  // one that ends is none of them any more
    for (const auto& one : all) {
        if (const auto stream = one.lock()) (stream.get()->*what)();
    }
}

void WebHandler::beat() {
    tell_streams(&LiveStream::beat);
    beating_ = !streams_.empty();
    if (beating_) loop_.post_after(kBeat, lifetime_.guard([this] { beat(); }));
}

void WebHandler::check(const std::string& name, const Act& act, net::ExchangePtr exchange) {
    const std::string wanted{exchange->request().body};
    Login::Shown shown{.session = session_of(exchange->request()), .act = name, .order = {}};
    const auto kept = keep(std::move(exchange));
    act.check(wanted, once<Plan>(
                          lifetime_,
                          [this, kept, shown = std::move(shown)](const Plan& plan) {
                              finish(kept, reply_with(plan, shown));
                          },
                          Plan{not_answered()}));
}

HttpReply WebHandler::reply_with(const Plan& plan, Login::Shown shown) {
    if (plan.answer.status != net::kOk) return fresh_json(plan.answer.status, plan.answer.json);
    Json confirmation;
    if (plan.order) {
        shown.order = *plan.order;
        confirmation = login_.confirmation(std::move(shown));
    }
    return fresh_json(net::kOk, R"({"plan":)" + plan.answer.json + R"(,"confirmation":)" +
                                    core::json_text(confirmation) + "}");
}

void WebHandler::run(const std::string& name, const Act& act, net::ExchangePtr exchange) {
    const auto& request = exchange->request();
    const auto by = net::to_string(request.peer);
    const auto order =
        login_.confirmed(session_of(request), name,
                         core::text_member(core::parse_json(request.body), "confirmation"));
    if (!order) {
        core::log_warn("console", "act_refused", {{"act", name}, {"by", by}});
        return reply(exchange, error_reply(net::kConflict,
                                           "this was not shown to you, was shown too long ago, or "
                                           "is done already: check it again"));
    }
    act.run(*order, by, reply_to(keep(std::move(exchange))));
}

std::uint64_t WebHandler::keep(net::ExchangePtr exchange) {
    kept_.emplace(++last_kept_, std::move(exchange));
    return last_kept_;
}

Reply WebHandler::reply_to(std::uint64_t kept) {
    return once<Answer>(
        lifetime_,
        [this, kept](Answer answer) {
            finish(kept, fresh_json(answer.status, std::move(answer.json)));
        },
        not_answered());
}

void WebHandler::finish(std::uint64_t kept, HttpReply reply) {
    const auto found = kept_.extract(kept);
    if (found) this->reply(found.mapped(), std::move(reply));
}

void WebHandler::reply(const net::ExchangePtr& exchange, HttpReply reply) const {
    exchange->reply(secured(std::move(reply)));
}

HttpReply WebHandler::secured(HttpReply reply) const {
    reply.add("Content-Security-Policy", app_.policy());
    for (const auto& [name, value] : kSecurityHeaders) reply.add(name, value);
    return reply;
}

namespace {

/// Where index.html leaves space for the session.
constexpr std::string_view kSessionPlace = "data-session=\"\"";
constexpr std::array<std::string_view, 3> kSessions{"data-session=\"open\"", "data-session=\"in\"",
                                                    "data-session=\"out\""};
constexpr std::size_t kEtagBytes = 12;

[[noreturn]] void refuse(std::string_view missing) {
    throw std::runtime_error("the console's document has no " + std::string{missing});
}

/// The text between `open` and `close`.
std::string_view between(std::string_view document, std::string_view open, std::string_view close) {
    const auto at = document.find(open);
    if (at == document.npos) refuse(open);
    const auto begin = at + open.size();
    const auto end = document.find(close, begin);
    if (end == document.npos) refuse(close);
    return document.substr(begin, end - begin);
}

std::string_view view(const core::Sha256& digest) {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// As a policy names a script or a style.
std::string source_of(std::string_view text) {
    return "'sha256-" + core::base64(view(core::sha256(text))) + "'";
}

AppPage::Document document_of(std::string_view document, std::string_view session) {
    std::string bytes{document};
    const auto at = bytes.find(kSessionPlace);
    if (at == bytes.npos) refuse(kSessionPlace);
    bytes.replace(at, kSessionPlace.size(), session);
    const auto digest = core::sha256(bytes);
    auto etag = '"' + core::base64url(view(digest).substr(0, kEtagBytes)) + '"';
    return {std::move(bytes), std::move(etag)};
}

}  // namespace

AppPage::AppPage(std::string_view document)
    : policy_("default-src 'none'; script-src " +
              source_of(between(document, "<script type=\"module\">", "</script>")) +
              "; style-src " + source_of(between(document, "<style>", "</style>")) +
              "; img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
              "frame-ancestors 'none'") {
    for (std::size_t i = 0; i < kSessions.size(); ++i) {
        documents_[i] = document_of(document, kSessions[i]);
    }
}

}  // namespace beckon::console
