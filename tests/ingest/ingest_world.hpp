#pragma once

#include "client/p256_key.hpp"
#include "core/base64url.hpp"
#include "core/key_ring.hpp"
#include "core/logger.hpp"
#include "core/tokens.hpp"
#include "ingest/service.hpp"
#include "ingest/view/edge_lag.hpp"
#include "records/events.hpp"
#include "store/subscription_store.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/temp_dir.hpp"
#include "support/test_executor.hpp"

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::net {

inline std::ostream& operator<<(std::ostream& out, const HttpReply& reply) {
    std::string text;
    append_reply(text, reply);
    return out << text;
}

}  // namespace beckon::net

/// The endpoint without sockets and threads: a Service and its view over the memory log, on one
/// deterministic executor.
namespace beckon::test {

using ingest::HttpReply;

using HeaderList = std::vector<std::pair<std::string, std::string>>;

struct TestRequest {
    std::string method = "POST";
    std::string target = {};
    HeaderList headers = {};
    std::string body = {};
    bool body_too_large = false;
    bool body_length_given = true;
    std::string peer = "192.0.2.7";

    TestRequest with(std::string name, std::string value) const {
        auto copy = *this;
        std::erase_if(copy.headers, [&](const auto& h) { return h.first == name; });
        copy.headers.emplace_back(std::move(name), std::move(value));
        return copy;
    }
    TestRequest without(std::string_view name) const {
        auto copy = *this;
        std::erase_if(copy.headers, [&](const auto& h) { return h.first == name; });
        return copy;
    }
    TestRequest to(std::string other) const {
        auto copy = *this;
        copy.target = std::move(other);
        return copy;
    }
    TestRequest with_body(std::string text) const {
        auto copy = *this;
        copy.body = std::move(text);
        return copy;
    }
};

class TestExchange final : public ingest::Exchange {
public:
    explicit TestExchange(TestRequest request) : kept_(std::move(request)) {
        request_.method = ingest::parse_method(kept_.method);
        request_.target = kept_.target;
        for (const auto& [name, value] : kept_.headers) {
            request_.headers.add(name, value);
            if (name.starts_with('P')) request_.extra.push_back({name, value});  // as the port does
        }
        request_.body = kept_.body;
        request_.body_too_large = kept_.body_too_large;
        request_.body_length_given = kept_.body_length_given;
        request_.peer = *net::parse_address(kept_.peer);
    }
    const ingest::HttpRequest& request() const override { return request_; }
    void reply(HttpReply reply) override { answer = std::move(reply); }

    std::optional<HttpReply> answer;

private:
    const TestRequest kept_;
    ingest::HttpRequest request_;
};

struct WorldOptions {
    core::Partition partitions = 2;
    std::size_t failed_vapid_per_minute = 600;
    std::size_t requests_per_second = 0;
    std::size_t publish_bytes_max = 1U << 20;
    std::size_t waiting_max = 10'000;
    std::vector<std::string> trusted_proxies = {};
    std::vector<std::string> extra_audiences = {};
    std::vector<std::string> crypto_keys = {};
    std::vector<core::Sha256> tracked = {};
    std::vector<std::string> tracked_names = {};
    core::MilestoneSink* milestones = nullptr;
    const core::MilestoneCountsSource* milestone_counts = nullptr;
    std::size_t vapid_cache_entries = 100;
    bool start_view = true;
    bool bridged_delivery = false;
    bool matrix_gateway = false;
    std::size_t channels_per_client_max = 1'000;
    std::chrono::milliseconds host_ahead{};  ///< the host's clock, of the log's
    bool reads_edge_lag = false;
    bool follows_senders = false;  ///< the rules about them
};

class IngestWorld {
public:
    static constexpr std::string_view kOrigin = "https://push.example.com:8443";
    static constexpr std::string_view kVary = ingest::kVary;
    static constexpr std::string_view kRouterData =
        R"({"token":"t","app_id":"my-app","rel_channel":"release"})";

    explicit IngestWorld(const WorldOptions& options = {})
        : log_(log::make_memory_log({.seed = 7,
                                     .partitions = options.partitions,
                                     .clock = &clock_,
                                     .stamp = [this, ahead = options.host_ahead](
                                                  const auto&) { return clock_.wall() - ahead; },
                                     .waiting_max = options.waiting_max})),
          keys_(std::make_shared<core::KeyRing>(
              std::vector<core::KeyRing::Key>{{0, core::Secret32{1, 2, 3}, "2026-01-01T00:00:00Z"}},
              options.crypto_keys, std::vector<std::string>{"first auth key", "old auth key"})),
          tokens_(keys_),
          partitions_(options.partitions),
          vapid_(client::P256Key::generate()) {
        core::configure_logging(core::LogLevel::error, core::LogFormat::text);
        health_.set_ready("endpoint", false, "reading");
        auto opened = store::SubscriptionStore::open({.directory = directory_ / "view",
                                                      .log_id = "log-1",
                                                      .partitions = options.partitions,
                                                      .cache_bytes = 1U << 20,
                                                      .write_buffer_bytes = 1U << 20,
                                                      .memory = nullptr});
        store_ = std::move(opened.value());
        view_ = std::make_unique<ingest::SubscriptionView>(
            ingest::ViewConfig{.node = node_, .partitions = options.partitions}, *log_, executor_,
            clock_, *store_, metrics_, [this](const ingest::ViewReadiness& now) {
                health_.set_ready("endpoint", now.ready, now.why);
            });
        ingest::ServiceConfig config;
        config.origin = kOrigin;
        config.audiences = ingest::accepted_audiences(kOrigin, options.extra_audiences);
        config.node = node_;
        config.partitions = options.partitions;
        config.vapid_cache_entries = options.vapid_cache_entries;
        config.bridges = {.fcm = options.bridged_delivery, .apns = options.bridged_delivery};
        config.matrix_gateway = options.matrix_gateway;
        config.channels_per_client_max = options.channels_per_client_max;
        config.endpoint_origins = {"https://former.example", std::string{kOrigin}};
        config.fcm_app_ids = {"my-app"};
        config.apns_channels = {"release"};
        config.tracked = options.tracked;
        config.tracked_names = options.tracked_names;
        config.milestones = options.milestones;
        config.milestone_counts = options.milestone_counts;
        config.version = "1.2.3";
        config.commit = "abc";
        config.source = "here";
        shared_ = std::unique_ptr<ingest::ServiceShared>(new ingest::ServiceShared{
            .config = std::move(config),
            .keys = keys_,
            .clock = clock_,
            .view = *view_,
            .metrics = metrics_,
            .health = health_,
            .proxies = net::TrustedProxies{options.trusted_proxies},
            .requests = net::RateLimiter{{.limit = options.requests_per_second}},
            .failed_vapid = ingest::FailedChecks{options.failed_vapid_per_minute},
            .publish_budget = ingest::PublishBudget{options.publish_bytes_max, metrics_}});
        if (options.reads_edge_lag) {
            edge_lag_ = std::make_unique<ingest::EdgeLag>(shared_->config.partitions, *log_,
                                                          executor_, clock_);
            shared_->edge_lag = edge_lag_.get();
        }
        if (options.follows_senders) {
            sender_rules_ = std::make_unique<fold::SenderRules>(
                "ingest",
                fold::SenderRules::Context{.log = *log_, .executor = executor_, .clock = clock_});
            senders_ = std::make_unique<ingest::SenderGate>(*sender_rules_);
            shared_->senders = senders_.get();
        }
        service_ = std::make_unique<ingest::Service>(*shared_, *log_, executor_);
        if (options.start_view) start_view();
    }

    void start_view() {
        view_->start();
        run_loops();
    }

    // --- asking

    /// Begins a request; the reply comes while the executor runs.
    std::shared_ptr<TestExchange> begin(const TestRequest& request) {
        auto exchange = std::make_shared<TestExchange>(request);
        service_->handle(exchange);
        return exchange;
    }
    /// Runs until the reply is there (within 30 s of simulated time).
    HttpReply ask(const TestRequest& request) {
        const auto exchange = begin(request);
        for (int i = 0; i < 300 && !exchange->answer; ++i) {
            executor_.run_for(std::chrono::milliseconds{i < 10 ? 1 : 100});
        }
        return exchange->answer.value_or(HttpReply{0, {}, "no answer"});
    }
    void run_loops(core::Duration span = std::chrono::milliseconds{50}) { executor_.run_for(span); }

    // --- making things

    log::TopicPartition subscriptions_of(const core::Uaid& uaid) const {
        return {log::Topic::kSubscriptions, core::partition_of(uaid, partitions_)};
    }
    void publish(log::TopicPartition where, core::Record record) {
        if (!publisher_) publisher_ = log_->open_publisher(executor_);
        publisher_->publish(where, std::move(record), [](const auto&) {});
    }
    /// A client with one channel, as the edge writes them.
    void subscribe(const core::Uaid& uaid, const core::ChannelId& channel,
                   core::RouterType type = core::RouterType::webpush) {
        core::ClientRecorded client;
        client.uaid = uaid;
        client.router_type = type;
        if (type != core::RouterType::webpush) client.router_data = kRouterData;
        client.stamp = core::WriteStamp{1, ++seq_};
        if (type != core::RouterType::webpush) client.stamp.reset();
        publish(subscriptions_of(uaid), core::encode(client));
        core::ChannelRecorded recorded;
        recorded.uaid = uaid;
        recorded.channel = channel;
        recorded.stamp = client.stamp ? std::optional{core::WriteStamp{1, ++seq_}} : std::nullopt;
        publish(subscriptions_of(uaid), core::encode(recorded));
    }
    struct Target {
        core::Uaid uaid;
        core::ChannelId channel;
        std::string path;
    };
    Target new_target(bool bound = false) {
        Target target{core::Uaid{core::random_uuid4()}, core::ChannelId{core::random_uuid4()}, {}};
        target.path = path_of(target.uaid, target.channel, bound);
        return target;
    }
    Target subscribed(bool bound = false) {
        auto target = new_target(bound);
        subscribe(target.uaid, target.channel);
        run_loops();
        return target;
    }
    std::string path_of(const core::Uaid& uaid, const core::ChannelId& channel, bool bound) {
        std::optional<core::Sha256> hash;
        if (bound) hash = core::sha256(vapid_.public_point());
        return "/wpush/" + tokens_.seal_endpoint(uaid, channel, hash);
    }
    static TestRequest post(const std::string& path) {
        return {.method = "POST", .target = path, .headers = {{"TTL", "60"}}, .body = {}};
    }
    static TestRequest post_data(const std::string& path) {
        return post(path).with("Content-Encoding", "aes128gcm").with_body("ciphertext");
    }

    // --- VAPID

    std::int64_t now_s() const {
        return std::chrono::duration_cast<std::chrono::seconds>(clock_.wall().time_since_epoch())
            .count();
    }
    std::string claims(std::int64_t exp_in = 3600) const {
        return R"({"aud":")" + std::string{kOrigin} + R"(","exp":)" +
               std::to_string(now_s() + exp_in) + R"(,"sub":"mailto:a@example.com"})";
    }
    std::string jwt(const std::string& claims_text,
                    const std::string& header = R"({"typ":"JWT","alg":"ES256"})") const {
        const auto text = core::base64url(header) + "." + core::base64url(claims_text);
        return text + "." + core::base64url(vapid_.sign(text));
    }
    std::string key_text() const { return core::base64url(vapid_.public_point()); }
    std::string vapid_header(const std::string& token) const {
        return "vapid t=" + token + ", k=" + key_text();
    }
    std::string vapid_header() const { return vapid_header(jwt(claims())); }

    // --- looking

    std::vector<log::MemoryLog::Stored> notifications() const { return records(0); }
    std::vector<log::MemoryLog::Stored> records(int topic_index) const {
        std::vector<log::MemoryLog::Stored> all;
        const auto topic = log::Topic::from_index(topic_index);
        for (core::Partition p = 0; p < partitions_; ++p) {
            const auto& some = log_->records({topic, p});
            all.insert(all.end(), some.begin(), some.end());
        }
        return all;
    }

    ManualClock clock_;
    SimExecutor executor_{clock_};
    ops::Metrics registry_;
    ops::Health health_;
    ingest::IngestMetrics metrics_{registry_};
    TempDir directory_;
    const core::NodeId node_{"00000000000000aa"};
    std::unique_ptr<log::MemoryLog> log_;
    std::shared_ptr<const core::KeyRing> keys_;
    core::Tokens tokens_;
    const core::Partition partitions_;
    const client::P256Key vapid_;
    std::uint64_t seq_ = 0;
    std::unique_ptr<store::SubscriptionStore> store_;
    std::unique_ptr<log::Publisher> publisher_;
    std::unique_ptr<ingest::SubscriptionView> view_;
    std::unique_ptr<ingest::EdgeLag> edge_lag_;
    std::unique_ptr<fold::SenderRules> sender_rules_;
    std::unique_ptr<ingest::SenderGate> senders_;
    std::unique_ptr<ingest::ServiceShared> shared_;
    std::unique_ptr<ingest::Service> service_;
};

/// The whole reply that an error has, for comparing.
inline HttpReply error(int status, const std::string& code, const std::string& phrase,
                       const std::string& message, const ingest::HttpReply& like = {}) {
    HttpReply reply;
    reply.status = status;
    reply.headers = like.headers;
    reply.headers.push_back({"Content-Type", "application/json"});
    reply.headers.push_back({"Vary", std::string{IngestWorld::kVary}});
    reply.body = R"({"code":)" + std::to_string(status) + R"(,"errno":)" + code + R"(,"error":")" +
                 phrase + R"(","message":")" + message + R"(","more_info":"/errors"})";
    return reply;
}

inline HttpReply gone(const std::string& code, const std::string& message) {
    HttpReply like;
    like.add("Cache-Control", "max-age=86400");
    return error(410, code, "Gone", message, like);
}

inline HttpReply no_such_subscription() {
    return gone("106", "No such subscription: it has ended, do not send to it again.");
}

inline std::string header_of(const log::MemoryLog::Stored& stored, std::string_view name) {
    for (const auto& h : stored.record.headers) {
        if (h.name == name) return h.value;
    }
    return "(absent)";
}

}  // namespace beckon::test
