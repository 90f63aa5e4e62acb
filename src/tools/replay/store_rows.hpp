#pragma once

#include "core/clock.hpp"
#include "store/partition_store.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace beckon::tools {

/// Kind and name of each row, and a hash of the rest. Kinds: client, channel, message,
/// pending_tombstone. Names are `<uaid>`, or `<uaid>/<channel or message key>`, in hex.
using StoreRows = std::map<std::pair<std::string, std::string>, std::size_t>;

/// The rows of a partition's known clients, of their channels, and of their waiting messages that
/// have not expired by `now`; and all pending tombstones. All rows are in memory.
StoreRows rows_of(store::PartitionStore& partition, core::Timestamp now);

}  // namespace beckon::tools
