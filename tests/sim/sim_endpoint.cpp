#include "sim/sim_endpoint.hpp"

#include <stdexcept>

namespace beckon::sim {

namespace {

constexpr std::size_t kFailedChecksMax = 600;
constexpr std::size_t kPublishBytesMax = 1U << 20;
constexpr std::size_t kVapidCache = 16;
constexpr std::size_t kStoreMemory = 1U << 20;

/// One for all processes of all runs, as those of the edges.
ingest::IngestMetrics& ingest_counters() {
    static ops::Metrics metrics;
    static ingest::IngestMetrics counted{metrics};
    return counted;
}

std::unique_ptr<store::SubscriptionStore> open_view(const SimEndpoint::Surroundings& around) {
    static const auto memory = std::make_shared<rocks::Memory>(kStoreMemory, kStoreMemory);
    auto opened = store::SubscriptionStore::open({.directory = around.directory,
                                                  .log_id = "sim",
                                                  .partitions = around.partitions,
                                                  .memory = memory,
                                                  .env = around.disk.env()});
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
}

ingest::ServiceConfig config_of(const SimEndpoint::Surroundings& around, const core::NodeId& id,
                                SimTracking* tracking) {
    ingest::ServiceConfig config;
    config.origin = kOrigin;
    config.audiences = {std::string{kOrigin}};
    config.node = id;
    config.partitions = around.partitions;
    if (tracking) {
        config.tracked = {*around.tracked};
        config.milestones = &tracking->sink();
        config.vapid_cache_entries = kVapidCache;
    }
    return config;
}

class SimExchange final : public net::Exchange {
public:
    SimExchange(SimRequest request, std::function<void(const net::HttpReply&)> answered)
        : kept_(std::move(request)), answered_(std::move(answered)) {
        request_.method = net::parse_method(kept_.method);
        request_.target = kept_.target;
        for (const auto& [name, value] : kept_.headers) request_.headers.add(name, value);
        request_.body = kept_.body;
        request_.body_length_given = true;
        request_.peer = *net::parse_address("192.0.2.7");
    }
    const net::HttpRequest& request() const override { return request_; }
    void reply(net::HttpReply reply) override { answered_(reply); }

private:
    const SimRequest kept_;
    const std::function<void(const net::HttpReply&)> answered_;
    net::HttpRequest request_;
};

}  // namespace

SimEndpoint::SimEndpoint(const Surroundings& around, const core::NodeId& id)
    : life_(around.executor), loop_("ingest", life_), store_(open_view(around)) {
    if (around.tracked) {
        tracking_ =
            std::make_unique<SimTracking>(around.log, life_, around.clock, id, around.partitions);
    }
    view_ = std::make_unique<ingest::SubscriptionView>(
        ingest::ViewConfig{.node = id, .partitions = around.partitions}, around.log, loop_,
        around.clock, *store_, ingest_counters(), [](const ingest::ViewReadiness&) {});
    shared_ = std::unique_ptr<ingest::ServiceShared>(new ingest::ServiceShared{
        .config = config_of(around, id, tracking_.get()),
        .keys = around.keys,
        .clock = around.clock,
        .view = *view_,
        .metrics = ingest_counters(),
        .health = health_,
        .proxies = net::TrustedProxies{{}},
        .requests = net::RateLimiter{{.limit = 0}},
        .failed_vapid = ingest::FailedChecks{kFailedChecksMax},
        .publish_budget = ingest::PublishBudget{kPublishBytesMax, ingest_counters()}});
    service_ = std::make_unique<ingest::Service>(*shared_, around.log, loop_);
    view_->start();
}

SimEndpoint::~SimEndpoint() {
    life_.kill();
    service_.reset();
    view_.reset();
    tracking_.reset();
}

void SimEndpoint::ask(SimRequest request, std::function<void(const net::HttpReply&)> answered) {
    loop_.post([this, request = std::move(request), answered = std::move(answered)]() mutable {
        service_->handle(std::make_shared<SimExchange>(std::move(request), std::move(answered)));
    });
}

}  // namespace beckon::sim
