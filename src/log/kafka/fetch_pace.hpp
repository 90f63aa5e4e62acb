#pragma once

#include "log/batching/linger.hpp"
#include "log/kafka/client_conf.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace beckon::log::kafka {

/// How far apart the fetches of one connection begin, so that each finds records of several
/// partitions. A broker answers a fetch as soon as it has one record: in a steady stream of single
/// records, each would be a fetch of its own. An answer is passed on at once, and a fetch that
/// follows too soon is sent later: a record waits for at most that long, on average for half of it,
/// and a record that comes alone does not wait.
class FetchPace {
public:
    /// So far in any case. Nobody waits for a fetch but the client, and each costs the broker a
    /// look at all partitions.
    static constexpr std::chrono::microseconds kApartLeast{6000};
    /// Where processors are short, as far as the linger, and at most so far.
    static constexpr std::chrono::milliseconds kApartMost{10};
    /// After an answer of so many bytes, or of as many as a partition may have in it, the next one
    /// may follow at once, as in a restore.
    static constexpr std::size_t kFullBytes = std::size_t{256} * 1024;
    static constexpr std::uint32_t kUnlimited = ~std::uint32_t{0};

    void answered(std::size_t bytes, std::size_t partition_bytes_max) {
        full_ = bytes >= std::min(kFullBytes, partition_bytes_max);
    }
    SteadyTime::duration apart(SteadyTime::duration linger) const;
    /// In bytes a second: the rate at which fetches of `bytes` begin that far apart.
    std::uint32_t rate(std::size_t bytes, SteadyTime::duration linger) const;

private:
    bool full_ = false;
};

/// The kernel sends on this TCP connection at no higher rate, in bytes a second: what follows a
/// segment too soon waits in the socket. Not for the first ten segments of a connection.
void limit_rate(int socket, std::uint32_t rate);

struct FetchPacing {
    OwnLinger& linger;
    std::size_t partition_bytes_max;
};
/// Makes the client of `conf` fetch at that pace. `pacing` outlives it.
///
/// librdkafka has no setting for it, and calls nobody between an answer and the next fetch. Its
/// interceptors tell which fetch was sent on which socket, so the kernel holds the next one back.
void pace_fetches(rd_kafka_conf_t* conf, FetchPacing& pacing);

}  // namespace beckon::log::kafka
