#pragma once

#include "core/record.hpp"
#include "core/result.hpp"

#include <cstddef>
#include <optional>
#include <string>

/// Records of `broadcasts` (docs/formats/records.md#broadcasts). Pure, any thread.
namespace beckon::edge {

/// `beckon.broadcast.v1`: the version of one broadcast. Without one it exists no more.
struct BroadcastSet {
    std::string id;
    std::optional<std::string> version;
    bool operator==(const BroadcastSet&) const = default;
};

inline constexpr std::size_t kBroadcastIdMax = 128;
inline constexpr std::size_t kBroadcastVersionMax = 256;
/// In one installation: each edge holds all of them, and each client that names one.
inline constexpr std::size_t kBroadcastsMax = 1'000;

/// Errors: invalid, naming what is allowed.
core::Result<void> check(const BroadcastSet& broadcast);

core::Record encode(const BroadcastSet& broadcast);
/// nullopt: a read barrier, or nothing that this build knows.
std::optional<BroadcastSet> decode_broadcast(const core::RecordView& record);

}  // namespace beckon::edge
