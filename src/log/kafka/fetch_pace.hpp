#pragma once

#include "log/kafka/client_conf.hpp"
#include "log/traffic.hpp"

#include <cstddef>

namespace beckon::log::kafka {

/// How long the answer to a fetch waits on one connection, so that the next fetch finds records of
/// several partitions. A fetch is answered as soon as one record is there; where records come one
/// by one all the time, each would be a fetch of its own.
class FetchPace {
public:
    /// The answer of `bytes` that came at `now`, where so many records a second are read.
    SteadyTime::duration wait(SteadyTime now, std::size_t bytes, std::size_t per_second);

private:
    SteadyTime last_;  ///< when the last answer was let through
};

/// Lets the clients that are made of `conf` fetch at that pace. `traffic` (what is read) outlives
/// them. librdkafka has no such setting before its version 2.2, and that one is not adaptive: this
/// waits in the thread of a connection that does nothing but fetch.
void pace_fetches(rd_kafka_conf_t* conf, Traffic& traffic);

}  // namespace beckon::log::kafka
