#pragma once

#include <librdkafka/rdkafka.h>

namespace beckon::log::kafka {

/// The threads of a client that send and receive are so much nicer than the process. Where a
/// processor is free that changes nothing. Where processors are short, those threads run after the
/// ones that work on records that have come: so each request and each fetch has more of them, and
/// costs less. Without it 64 senders that wait had 0.85, and 256 0.82 times the messages a second
/// (docs/decisions/0198-messages-are-batched-under-load.md).
inline constexpr int kNiceness = 10;

/// Makes the threads of the client of `conf` do so.
void give_way(rd_kafka_conf_t* conf);

}  // namespace beckon::log::kafka
