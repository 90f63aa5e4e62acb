#pragma once

#include "core/ids.hpp"

#include <cstdint>
#include <string_view>

namespace beckon::core {

/// 0 … P-1, the same for every log topic that is keyed by UAID.
using Partition = std::int32_t;

/// murmur2 with Kafka's seed, as its default partitioner computes it.
std::uint32_t murmur2(std::string_view data);

/// The partition of a key: toPositive(murmur2(key)) mod P. P ≥ 1.
Partition partition_of(std::string_view key, Partition partitions);

/// A client's partition (docs/design.md#topics-and-partitions): of its UAID's 32 hex characters.
Partition partition_of(const Uaid& uaid, Partition partitions);

}  // namespace beckon::core
