#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "inspect/trace/scan.hpp"
#include "log/event_log.hpp"
#include "store/edge_store.hpp"

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

/// The state of one client at any moment of the history window. Blocking.
namespace beckon::inspect {

/// A message that waited.
struct WaitingMessage {
    core::MessageKey key;
    core::ChannelId channel;
    core::Offset offset = 0;
    core::Timestamp appended{};
    core::Timestamp expires{};
    std::string topic;
    std::size_t bytes = 0;
};

struct ClientState {
    core::Timestamp at{};
    std::optional<store::StoredClient> client;  ///< nullopt: unknown, or removed
    std::vector<store::StoredChannel> channels;
    std::vector<WaitingMessage> waiting;  ///< in the order of delivery
};

/// Folds the log's records of a client, up to `at`, with the code and the store of an edge, in a
/// directory that is removed at the end. Records that compaction has removed are not seen: before
/// the history window only the state at its beginning is certain. Errors: those of scan() and of
/// the store.
core::Result<ClientState> state_of_client(log::EventLog& log, const core::Uaid& client,
                                          core::Timestamp at, core::Partition partitions,
                                          const ScanLimits& limits);

/// Names clients as log lines do.
nlohmann::ordered_json state_json(const core::Uaid& client, const ClientState& state);

}  // namespace beckon::inspect
