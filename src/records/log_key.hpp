#pragma once

#include <cstddef>
#include <string_view>

/// The forms of keys, shared by encoding and decoding (docs/formats/records.md#keys).
namespace beckon::core {

inline constexpr std::string_view kBarrierPrefix = "!barrier/";
inline constexpr std::string_view kLeasePrefix = "!lease/";
inline constexpr std::size_t kHexSize = 32;      ///< a uaid or message key in a log key
inline constexpr std::size_t kDashedSize = 36;   ///< a channel id
inline constexpr std::size_t kEpochDigits = 20;  ///< so that keys of leases sort

/// True for keys that folds skip (read barriers and leases).
inline bool is_control_key(std::string_view key) { return key.starts_with('!'); }

}  // namespace beckon::core
