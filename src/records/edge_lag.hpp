#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/record.hpp"

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

/// The partitions in which an edge is far behind the log, in the log topic `ownership`, as long as
/// it is:
///
///   lag/<node>   beckon.lag.v1; null: it is far behind in none any more
///
/// Endpoints take no message for these partitions (docs/formats/ownership.md). Pure functions, any
/// thread.
namespace beckon::cluster {

struct EdgeLagRecord {
    /// An edge that is less behind in a partition does not name it.
    static constexpr std::chrono::milliseconds kLeast{500};
    /// How often an edge that is behind says so.
    static constexpr std::chrono::milliseconds kEvery{100};
    /// For how long a record counts after its append: the edge may have died.
    static constexpr std::chrono::milliseconds kCountsFor{3'000};

    core::NodeId node;
    /// The age of the oldest record that it has not folded, of the partitions that it serves.
    std::chrono::milliseconds lag{};
    /// Where that age is kLeast or more. None: it is behind nowhere any more (a tombstone).
    std::vector<core::Partition> partitions{};
    bool operator==(const EdgeLagRecord&) const = default;
};

core::Record encode(const EdgeLagRecord& lag);
/// Whether the key is one of an edge's lag; the others of the topic are ownership.hpp's.
bool is_edge_lag_key(std::string_view key);
/// nullopt: it is no such record, or one that cannot be read.
std::optional<EdgeLagRecord> decode_edge_lag(const core::RecordView& record);

}  // namespace beckon::cluster
