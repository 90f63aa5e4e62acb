#pragma once

#include <array>

/// The column families of the role's RocksDB (docs/formats/reliability.md).
namespace beckon::reliability::family {

inline constexpr const char* kHistories = "histories";
inline constexpr const char* kExpiry = "expiry";
inline constexpr const char* kEnded = "ended";
inline constexpr const char* kTotals = "totals";
inline constexpr const char* kPartitions = "partitions";
inline constexpr std::array kAll = {kHistories, kExpiry, kEnded, kTotals, kPartitions};

}  // namespace beckon::reliability::family
