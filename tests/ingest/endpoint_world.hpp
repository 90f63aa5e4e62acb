#pragma once

#include "core/key_ring.hpp"
#include "core/logger.hpp"
#include "core/tokens.hpp"
#include "ingest/endpoint.hpp"
#include "records/events.hpp"
#include "support/locked_log.hpp"
#include "support/temp_dir.hpp"
#include "support/test_executor.hpp"
#include "support/test_socket.hpp"

#include <memory>
#include <string>

namespace beckon::test {

/// A real Endpoint with its threads and sockets, over the memory log.
class EndpointWorld {
public:
    explicit EndpointWorld(ingest::EndpointConfig config = {},
                           core::Duration publish_timeout = std::chrono::milliseconds{200})
        : log_(log::make_memory_log({.seed = 1,
                                     .partitions = kPartitions,
                                     .clock = &clock_,
                                     .publish_timeout = publish_timeout})),
          keys_(std::make_shared<core::KeyRing>(core::KeyRing::generate())),
          tokens_(keys_) {
        core::configure_logging(core::LogLevel::error, core::LogFormat::text);
        config.port = 0;
        config.node = core::NodeId::random();
        if (config.threads == 0) config.threads = 2;
        config.view_directory = directory_ / "view";
        config.log_id = "log-1";
        config.partitions = kPartitions;
        config.store_memory = std::make_shared<rocks::Memory>(1U << 20, 1U << 20);
        endpoint_ = std::make_unique<ingest::Endpoint>(std::move(config), log_, keys_, clock_,
                                                       metrics_, health_);
        publisher_ = log_.open_publisher(executor_);
    }
    ~EndpointWorld() {
        endpoint_.reset();
        publisher_.reset();
    }

    bool wait_ready() {
        return executor_.wait_until([this] {
            executor_.post_after(std::chrono::milliseconds{1}, [] {});
            return health_.report().ready;
        });
    }

    /// A subscribed channel's path.
    std::string subscribed() {
        const core::Uaid uaid{core::random_uuid4()};
        const core::ChannelId channel{core::random_uuid4()};
        core::ClientRecorded client;
        client.uaid = uaid;
        client.stamp = core::WriteStamp{1, 1};
        core::ChannelRecorded recorded;
        recorded.uaid = uaid;
        recorded.channel = channel;
        recorded.stamp = core::WriteStamp{1, 2};
        publish(uaid, core::encode(client));
        publish(uaid, core::encode(recorded));
        executor_.wait_until([this] { return publisher_->unanswered() == 0; });
        return "/wpush/" + tokens_.seal_endpoint(uaid, channel);
    }

    std::size_t messages() {
        return log_.with([](const log::MemoryLog& log) {
            std::size_t sum = 0;
            for (core::Partition p = 0; p < kPartitions; ++p) {
                sum += log.records({log::Topic::kNotifications, p}).size();
            }
            return sum;
        });
    }

    TestSocket connect() const { return TestSocket{endpoint_->port()}; }
    static std::string post(const std::string& path, const std::string& body,
                            const std::string& more = {}) {
        return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nTTL: 60\r\n" +
               (body.empty() ? "" : "Content-Encoding: aes128gcm\r\n") +
               "Content-Length: " + std::to_string(body.size()) + "\r\n" + more + "\r\n" + body;
    }

    static constexpr core::Partition kPartitions = 2;
    core::SystemClock clock_;
    TempDir directory_;
    ops::Metrics metrics_;
    ops::Health health_;
    LockedLog log_;
    WaitingExecutor executor_;
    std::shared_ptr<const core::KeyRing> keys_;
    core::Tokens tokens_;
    std::unique_ptr<log::Publisher> publisher_;
    std::unique_ptr<ingest::Endpoint> endpoint_;

private:
    void publish(const core::Uaid& uaid, core::Record record) {
        publisher_->publish({log::Topic::kSubscriptions, core::partition_of(uaid, kPartitions)},
                            std::move(record), [](const auto&) {});
    }
};

}  // namespace beckon::test
