#pragma once

#include <chrono>
#include <cstddef>

#include <librdkafka/rdkafka.h>

namespace beckon::log::kafka {

/// How far apart the answers to fetches are passed on: as long as the last one of `bytes` bytes
/// takes at 3 KiB a millisecond, and at most 4 ms. So a record that comes alone waits for nothing,
/// and where records come fast, the next fetch finds what has come meanwhile in all partitions.
/// With it 64 senders that wait have 1.1 to 1.8 times the messages a second
/// (docs/decisions/0198-messages-are-batched-under-load.md). An answer of `bytes_full` or more is
/// followed by no pause, so restores are not slowed down.
std::chrono::microseconds pause_after(std::size_t bytes, std::size_t bytes_full);

/// The client of `conf` keeps its fetches so far apart, on each connection. `partition_bytes_max`:
/// what one partition may bring in an answer.
void pace_fetches(rd_kafka_conf_t* conf, std::size_t partition_bytes_max);

}  // namespace beckon::log::kafka
