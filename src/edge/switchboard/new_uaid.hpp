#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"

namespace beckon::edge {

/// A random UUIDv4 that hashes to `partition` of `partitions`: a client without a UAID gets one
/// whose home is near (docs/design.md#shards). Takes about `partitions` hashes of 50 ns.
core::Uaid new_uaid_in(core::Partition partition, core::Partition partitions);

}  // namespace beckon::edge
