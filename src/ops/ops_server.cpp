#include "ops/ops_server.hpp"

#include "core/lifetime.hpp"
#include "net/http/http_server.hpp"
#include "ops/metric_names.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string_view>

#include <nlohmann/json.hpp>

namespace beckon::ops {

namespace {

using net::HttpReply;
using net::Method;

/// One loop serves all, and nothing on it waits: what other connections do delays nobody.
constexpr int kThreads = 1;
/// Pages that are being made by others.
constexpr std::size_t kLateMax = 16;
/// Above these the connection that has waited longest for its peer makes room.
constexpr std::size_t kConnectionsMax = 64;
/// A batch of log records, which tools read through this port, fits: 32 MiB for all connections.
constexpr int kSendBufferBytes = 512 << 10;
constexpr net::RequestLimits kLimits{.header_bytes_max = 8'192, .body_bytes_max = 0};
constexpr net::ConnectionTimes kTimes{.request = std::chrono::seconds{10},
                                      .keep_alive = std::chrono::minutes{2},
                                      .linger = std::chrono::milliseconds{200},
                                      .last_request = std::chrono::milliseconds{50}};
constexpr std::chrono::milliseconds kDrain{300};

HttpReply text_reply(int status, std::string body) {
    HttpReply reply;
    reply.status = status;
    reply.add("Content-Type", "text/plain; charset=utf-8");
    reply.body = std::move(body);
    return reply;
}

HttpReply json_reply(int status, const nlohmann::ordered_json& body) {
    HttpReply reply;
    reply.status = status;
    reply.add("Content-Type", "application/json");
    reply.body = body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    return reply;
}

HttpReply report_reply(bool good, const Health::Report& report, const std::string& version) {
    nlohmann::ordered_json body;
    body["status"] = report.ready ? "OK" : "ERROR";
    body["version"] = version;
    if (!report.faults.empty()) body["faults"] = report.faults;
    if (!report.warnings.empty()) body["warnings"] = report.warnings;
    return json_reply(good ? 200 : 503, body);
}

HttpReply metrics_reply(const Metrics& metrics, const Health& health) {
    HttpReply reply;
    reply.add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    reply.body = metrics.text();
    reply.body.append("# HELP ").append(metric::kReady);
    reply.body.append(
        " 1 while this part of the process is ready, 0 while it is not; /ready says why.\n");
    reply.body.append("# TYPE ").append(metric::kReady).append(" gauge\n");
    for (const auto& [part, why] : health.report().parts) {
        reply.body.append(metric::kReady).append("{part=\"").append(part).append("\"} ");
        reply.body.append(why.empty() ? "1\n" : "0\n");
    }
    return reply;
}

HttpReply not_found_reply() { return text_reply(404, "there is nothing at this path\n"); }

/// RFC 3986 §2.1; a '%' that no two hexadecimal digits follow stands for itself.
std::string percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned char byte = 0;
        const char* digits = text.data() + i + 1;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
            out.push_back(static_cast<char>(byte));
            i += 2;
        } else {
            out.push_back(text[i]);
        }
    }
    return out;
}

Query parse_query(std::string_view text) {
    Query query;
    while (!text.empty()) {
        const auto pair = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(pair.size() + 1, text.size()));
        const auto name = pair.substr(0, pair.find('='));
        const auto value = pair.substr(std::min(name.size() + 1, pair.size()));
        if (!name.empty()) query.emplace(percent_decoded(name), percent_decoded(value));
    }
    return query;
}

/// What is mounted, by prefix. Thread-safe; a mount ends when no page of it is being made.
class Pages {
public:
    void add(const std::string& prefix, PageMaker maker) {
        const std::scoped_lock lock{mutex_};
        makers_.insert_or_assign(prefix, std::move(maker));
    }
    void add_late(const std::string& prefix, LatePageMaker maker) {
        const std::scoped_lock lock{mutex_};
        late_.insert_or_assign(prefix, std::move(maker));
    }
    void remove(const std::string& prefix) {
        const std::scoped_lock lock{mutex_};
        makers_.erase(prefix);
        late_.erase(prefix);
    }
    void look_with(std::function<void()> look) {
        const std::scoped_lock lock{mutex_};
        look_ = std::move(look);
    }
    void look() {
        const std::scoped_lock lock{mutex_};
        if (look_) look_();
    }
    void add_with(std::function<std::string()> more) {
        const std::scoped_lock lock{mutex_};
        more_ = std::move(more);
    }
    std::string more() {
        const std::scoped_lock lock{mutex_};
        return more_ ? more_() : std::string{};
    }
    /// 404 if nobody answers this target.
    HttpReply answer(std::string_view target) {
        const auto path = target.substr(0, target.find('?'));
        const auto query = target.substr(std::min(path.size() + 1, target.size()));
        const std::scoped_lock lock{mutex_};
        for (const auto& [prefix, maker] : makers_) {
            if (!path.starts_with(prefix + "/")) continue;
            return reply_of(maker(percent_decoded(path.substr(prefix.size())), parse_query(query)));
        }
        return not_found_reply();
    }
    /// Whether somebody answers this target later, as `done` is called then.
    bool is_late(std::string_view target) {
        const std::scoped_lock lock{mutex_};
        return maker_of(target) != nullptr;
    }
    void answer_late(const net::HttpRequest& request, PageDone done) {
        const auto target = request.target;
        const auto path = target.substr(0, target.find('?'));
        const auto query = target.substr(std::min(path.size() + 1, target.size()));
        const auto proof = request.headers.get(net::HeaderName::authorization);
        const std::scoped_lock lock{mutex_};
        const auto* entry = maker_of(target);
        if (!entry) return done({.status = 404, .body = "{}"});
        entry->second({.path = percent_decoded(path.substr(entry->first.size())),
                       .query = parse_query(query),
                       .authorization = std::string{proof.value_or("")}},
                      std::move(done));
    }

    static HttpReply reply_of(Page page) {
        HttpReply reply;
        reply.status = page.status;
        reply.add("Content-Type", std::move(page.type));
        reply.body = std::move(page.body);
        return reply;
    }

private:
    using LateMakers = std::map<std::string, LatePageMaker>;
    /// Under the mutex.
    const LateMakers::value_type* maker_of(std::string_view target) const {
        const auto path = target.substr(0, target.find('?'));
        const auto found = std::find_if(late_.begin(), late_.end(), [&](const auto& entry) {
            return path.starts_with(entry.first + "/");
        });
        return found == late_.end() ? nullptr : &*found;
    }

    std::mutex mutex_;
    std::map<std::string, PageMaker> makers_;
    LateMakers late_;
    std::function<void()> look_;
    std::function<std::string()> more_;
};

class Handler final : public net::HttpHandler {
public:
    Handler(std::string version, const Metrics& metrics, const Health& health, Pages& pages,
            core::Executor& loop)
        : version_(std::move(version)),
          metrics_(metrics),
          health_(health),
          pages_(pages),
          lifetime_(loop) {}

    void handle(net::ExchangePtr exchange) override {
        const auto& request = exchange->request();
        const bool reads = request.method == Method::get && !request.body_too_large;
        if (!reads || !pages_.is_late(request.target)) return exchange->reply(answer(request));
        if (late_.size() >= kLateMax) return exchange->reply(text_reply(503, "too many at once\n"));
        pages_.answer_late(request, promise(std::move(exchange)));
    }

    HttpReply rejection(net::Rejection why) override {
        switch (why) {
            case net::Rejection::bad_request:
            case net::Rejection::bad_host: return text_reply(400, "not a good HTTP/1.1 request\n");
            case net::Rejection::header_too_large: return text_reply(431, "too large a header\n");
            case net::Rejection::too_slow: return text_reply(408, "too slow\n");
            case net::Rejection::too_many_connections:
            case net::Rejection::stopping: break;
        }
        return text_reply(503, "not available\n");
    }

private:
    /// Keeps the exchange here, since it belongs to this thread, until its page comes.
    PageDone promise(net::ExchangePtr exchange) {
        const auto id = ++last_late_;
        late_.emplace(id, std::move(exchange));
        return [this, id, to_loop = lifetime_.remote()](Page page) {
            to_loop.post([this, id, page = std::move(page)]() mutable {
                const auto waiting = late_.extract(id);
                if (waiting) waiting.mapped()->reply(Pages::reply_of(std::move(page)));
            });
        };
    }

    HttpReply answer(const net::HttpRequest& request) const {
        if (request.method != Method::get && request.method != Method::head) {
            auto reply = text_reply(405, "only GET and HEAD\n");
            reply.add("Allow", "GET, HEAD");
            return reply;
        }
        if (request.body_too_large) return text_reply(413, "no body is read here\n");
        return route(request.target);
    }

    HttpReply route(std::string_view target) const {
        const auto path = target.substr(0, target.find('?'));
        if (path == "/metrics") {
            pages_.look();
            auto reply = metrics_reply(metrics_, health_);
            reply.body += pages_.more();
            return reply;
        }
        if (path == "/__version__") return json_reply(200, {{"version", version_}});
        const auto report = health_.report();
        if (path == "/ready" || path == "/__heartbeat__") {
            return report_reply(report.ready, report, version_);
        }
        if (path == "/live" || path == "/__lbheartbeat__") {
            return report_reply(report.live, report, version_);
        }
        return pages_.answer(target);
    }

    const std::string version_;
    const Metrics& metrics_;
    const Health& health_;
    Pages& pages_;
    std::uint64_t last_late_ = 0;
    std::map<std::uint64_t, net::ExchangePtr> late_;
    core::Lifetime lifetime_;
};

class NobodyCounts final : public net::HttpObserver {
    void opened() override {}
    void closed(net::CloseReason) override {}
    void turned_away(net::CloseReason) override {}
    void accept_paused() override {}
};

net::HttpServerOptions options_of(const OpsConfig& config) {
    net::HttpServerOptions options;
    options.name = "ops";
    options.host = config.host;
    options.port = config.port;
    options.threads = kThreads;
    options.limits = kLimits;
    options.times = kTimes;
    options.connections = {.total_max = kConnectionsMax};
    options.when_full = net::WhenFull::replace_oldest;
    options.send_buffer_bytes = kSendBufferBytes;
    options.drain = kDrain;
    return options;
}

}  // namespace

struct OpsServer::Impl {
    explicit Impl(const OpsConfig& config) : server(options_of(config), observer) {}

    NobodyCounts observer;
    Pages pages;
    net::HttpServer server;  ///< its handler uses the above
};

OpsServer::OpsServer(const OpsConfig& config, const Metrics& metrics, const Health& health) {
    try {
        impl_ = std::make_unique<Impl>(config);
    } catch (const std::runtime_error& why) {
        throw std::runtime_error("the ops port (--ops-port): " + std::string{why.what()});
    }
    impl_->server.start([&](core::Executor& loop) {
        return std::make_unique<Handler>(config.version, metrics, health, impl_->pages, loop);
    });
}

OpsServer::~OpsServer() = default;

Mount OpsServer::mount(const std::string& prefix, PageMaker maker) {
    impl_->pages.add(prefix, std::move(maker));
    return Mount{[&pages = impl_->pages, prefix] { pages.remove(prefix); }};
}

Mount OpsServer::mount_late(const std::string& prefix, LatePageMaker maker) {
    impl_->pages.add_late(prefix, std::move(maker));
    return Mount{[&pages = impl_->pages, prefix] { pages.remove(prefix); }};
}

Mount OpsServer::before_metrics(std::function<void()> look) {
    impl_->pages.look_with(std::move(look));
    return Mount{[&pages = impl_->pages] { pages.look_with(nullptr); }};
}

Mount OpsServer::after_metrics(std::function<std::string()> more) {
    impl_->pages.add_with(std::move(more));
    return Mount{[&pages = impl_->pages] { pages.add_with(nullptr); }};
}

std::uint16_t OpsServer::port() const { return impl_->server.port(); }

}  // namespace beckon::ops
