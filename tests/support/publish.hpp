#pragma once

#include "core/clock.hpp"
#include "core/record.hpp"
#include "log/blocking_executor.hpp"
#include "log/event_log.hpp"

#include <chrono>
#include <optional>

#include <catch2/catch.hpp>

namespace beckon::test {

/// Publishes a record; its offset, once the log has it.
inline core::Offset publish(log::EventLog& log, log::TopicPartition where,
                            const core::Record& record) {
    log::BlockingExecutor executor;
    const auto publisher = log.open_publisher(executor);
    std::optional<core::Result<log::Appended>> done;
    publisher->publish(where, record, [&done](const auto& appended) { done = appended; });
    executor.wait_until([&done] { return done.has_value(); },
                        core::SystemClock{}.mono() + std::chrono::seconds{10});
    REQUIRE(done.has_value());
    REQUIRE(done->has_value());
    return (*done)->offset;
}

}  // namespace beckon::test
