#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/record.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"

#include <functional>

/// Publishes and queries that are repeated until the log answers: the one place for that. A step
/// ends only with success or with its owner, so the owner bounds the number of steps under way. An
/// owner that decides after a failure anew which records it writes (the pending tombstones of a
/// home, the controller's placements) uses a queue and a core::Backoff instead.
namespace beckon::log {

/// The owner of the steps. Nothing is called after its lifetime has ended or was renewed.
struct Until {
    const core::Lifetime& lifetime;
    core::Executor& executor;
    core::Duration pause_first = std::chrono::milliseconds{500};
    core::Duration pause_most = std::chrono::seconds{4};
};

/// Publishes what `make` returns, called for each try, until the log has it, with pauses that grow
/// and vary (core::Backoff). After a failure the log may have the record nevertheless, and then has
/// it twice. `failed` is called after each failure. If `make` throws in the first try, this throws;
/// in a later one that is a failure.
void until_written(const Until& owner, Publisher& publisher, TopicPartition where,
                   std::function<core::Record()> make, std::function<void(const Appended&)> written,
                   std::function<void(const core::Error&)> failed = {});

/// Asks for the ends of a partition until the log answers, or with an error that no retry helps.
void until_known(const Until& owner, EventLog& log, TopicPartition where,
                 std::function<void(const core::Result<Ends>&)> known);

}  // namespace beckon::log
