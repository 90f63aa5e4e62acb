#pragma once

#include "net/http/http_message.hpp"
#include "ops/health.hpp"
#include "ops/metrics.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace beckon::ops {

struct OpsConfig {
    std::string host = "127.0.0.1";
    std::uint16_t port = 9090;  ///< 0: any free one
    std::string version;
};

/// The answer of a part of the process to a GET on the ops port.
struct Page {
    int status = net::kOk;
    std::string type = "application/json";
    std::string body;
};
/// A page {"error": `why`}.
Page refusal(int status, std::string_view why);

using Query = std::map<std::string, std::string, std::less<>>;
/// Empty if the query has no such name.
std::string_view value_in(const Query& query, std::string_view name);

/// `path` is the part behind the prefix, percent-decoded like the query. Called on the port's one
/// thread: it answers from memory and never blocks, since `/live` waits for it.
using PageMaker = std::function<Page(std::string_view path, const Query& query)>;

/// A request for a page that takes a while, since it needs a disk or another thread.
struct LateRequest {
    std::string path;  ///< as of a PageMaker
    Query query;
    std::string authorization;  ///< the header; empty without one
};
/// Called exactly once, on any thread; after the server's end it does nothing.
using PageDone = std::function<void(Page)>;
/// Called on the port's thread, which it never blocks.
using LatePageMaker = std::function<void(LateRequest request, PageDone done)>;

/// Called before each `/metrics`, one at a time, as a PageMaker: reads values that are not counted,
/// and returns series that come and go with the things that they name, in Prometheus' text format.
using MetricsMaker = std::function<std::string()>;

/// Keeps a prefix of the ops port mounted. Once it has ended, its maker is not called any more.
class Mount {
public:
    explicit Mount(std::function<void()> end) : end_(std::move(end)) {}
    ~Mount() {
        if (end_) end_();
    }
    Mount(Mount&& other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
    Mount(const Mount&) = delete;
    Mount& operator=(const Mount&) = delete;

private:
    std::function<void()> end_;
};

/// The ops port of a process: `/metrics`, `/ready`, `/live`, `/__heartbeat__`, `/__lbheartbeat__`,
/// `/__version__`. GET and HEAD only; a body is never read. One thread of its own, on which nothing
/// waits; internal networks only. Where it listens on this host alone, it trusts every process of
/// the host, and therefore answers only requests that name this host, and no page of another site
/// (net::judge_caller).
class OpsServer {
public:
    /// Throws std::runtime_error naming host and port if it cannot listen.
    OpsServer(const OpsConfig& config, const Metrics& metrics, const Health& health);
    ~OpsServer();
    std::uint16_t port() const;

    /// Lets `maker` answer GET and HEAD of targets below `prefix` ("/reliability"). Thread-safe;
    /// the Mount ends before the server.
    [[nodiscard]] Mount mount(const std::string& prefix, PageMaker maker);
    /// Mounts pages that are answered later, within ten seconds, to GET alone; a few at a time,
    /// more are refused with 503.
    [[nodiscard]] Mount mount_late(const std::string& prefix, LatePageMaker maker);
    /// Adds a part to `/metrics`; its text comes behind the metrics that are counted.
    [[nodiscard]] Mount mount_metrics(const std::string& name, MetricsMaker maker);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::ops
