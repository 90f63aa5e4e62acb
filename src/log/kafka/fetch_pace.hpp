#pragma once

#include "log/batching/linger.hpp"
#include "log/kafka/client_conf.hpp"

#include <cstddef>

namespace beckon::log::kafka {

/// How long the answer to a fetch waits on one connection, so that the next fetch finds records of
/// several partitions. A broker answers a fetch as soon as it has one record: in a steady stream of
/// single records, each would be a fetch of its own.
class FetchPace {
public:
    /// At most so long.
    static constexpr std::chrono::milliseconds kWaitMax{10};
    /// And so long already where processors have only some time to spare. Nobody waits for a fetch
    /// but the client, and each costs the broker a look at all partitions.
    static constexpr std::chrono::milliseconds kWaitLittle{1};

    /// How long an answer of `bytes` that came at `now` waits: until so long after the one before
    /// as answers `linger` at present.
    SteadyTime::duration wait(SteadyTime now, std::size_t bytes, SteadyTime::duration linger);

private:
    SteadyTime last_{};  ///< when the last answer was let through
};

/// Makes the clients of `conf` fetch at that pace. `linger` outlives them. librdkafka has a setting
/// for it only since version 2.2, and not an adaptive one. It may sleep in librdkafka's thread,
/// which serves one connection that does nothing but fetch: the wait is at most kWaitMax, and no
/// request's time-out is below a second.
void pace_fetches(rd_kafka_conf_t* conf, OwnLinger& linger);

}  // namespace beckon::log::kafka
