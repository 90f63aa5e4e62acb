#pragma once

#include "core/tokens.hpp"
#include "edge/edge.hpp"
#include "log/embedded/embedded_log.hpp"
#include "records/events.hpp"
#include "support/temp_dir.hpp"
#include "support/test_executor.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch.hpp>

namespace beckon::test {

/// An installation on a directory: the log and its publishers live as long as this object, edges
/// come and go.
struct Installation {
    static constexpr core::Partition kPartitions = 4;

    TempDir directory;
    core::SystemClock clock;
    ops::Metrics metrics;
    ops::Health health;
    std::shared_ptr<const core::KeyRing> keys =
        std::make_shared<const core::KeyRing>(core::KeyRing::generate());
    std::unique_ptr<log::EmbeddedLog> log = log::open_embedded_log({.directory = directory / "log",
                                                                    .sync = log::Sync::never,
                                                                    .partitions = kPartitions,
                                                                    .clock = &clock});
    core::Tokens tokens{keys};
    WaitingExecutor executor;
    std::unique_ptr<log::Publisher> publisher = log->open_publisher(executor);

    edge::EdgeOptions config() const {
        edge::EdgeOptions config;
        config.port = 0;
        config.endpoint_url = "https://push.test";
        config.store_directory = directory / "edge";
        config.log_id = "test";
        config.partitions = kPartitions;
        config.shards = 2;
        config.drain = std::chrono::milliseconds{50};
        config.version = "9";
        return config;
    }

    std::unique_ptr<edge::Edge> start(edge::EdgeOptions with) {
        auto edge =
            std::make_unique<edge::Edge>(std::move(with), *log, keys, clock, metrics, health);
        REQUIRE(executor.wait_until([this] {
            executor.post([] {});  // looks again
            return health.report().ready;
        }));
        return edge;
    }
    std::unique_ptr<edge::Edge> start() { return start(config()); }

    /// Sends a message as an endpoint would.
    std::string send(std::string_view endpoint, std::string_view body) {
        core::NotificationAccepted message;
        message.ttl_s = 3600;
        message.encoding = "aes128gcm";
        message.body = body;
        return send(endpoint, message);
    }
    /// Sends `message` to the endpoint's client and channel, with a new key.
    std::string send(std::string_view endpoint, core::NotificationAccepted message) {
        const auto path = endpoint.substr(endpoint.rfind('/') + 1);
        const auto to = tokens.open_endpoint(path, core::Tokens::Form::any, clock.wall());
        REQUIRE(to);
        message.uaid = to->uaid;
        message.channel = to->channel;
        message.key = core::new_message_key(clock.wall());
        const std::string id = tokens.seal_message({to->uaid, message.key});
        message.message_id = id;
        publish({log::Topic::kNotifications, core::partition_of(to->uaid, kPartitions)},
                core::encode(message));
        return id;
    }
    /// The record is durable when this returns.
    void publish(log::TopicPartition where, core::Record record) {
        std::optional<core::Result<log::Appended>> appended;
        publisher->publish(where, std::move(record), [&](const auto& done) { appended = done; });
        REQUIRE(executor.wait_until([&] { return appended.has_value(); }));
        REQUIRE(*appended);
    }
};

}  // namespace beckon::test
