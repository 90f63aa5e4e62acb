#pragma once

#include "log/kafka/handles.hpp"
#include "log/kafka/kafka_events.hpp"

#include <memory>
#include <vector>

namespace beckon::log::kafka {

/// Destroys consumers that are in no group. librdkafka does so only when their requests have an
/// answer, and a broker that hangs gives none for a minute: after a moment it goes on without the
/// caller. `events`: the KafkaEvents of the clients.
void close_soon(std::vector<ClientHandle> clients, std::shared_ptr<KafkaEvents> events);

}  // namespace beckon::log::kafka
