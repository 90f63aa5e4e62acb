#pragma once

#include "core/record.hpp"
#include "core/result.hpp"
#include "retry/tiers/delivery.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// What stands in `retry.dead` besides the deliveries that were given up
/// (docs/formats/retry.md#dead-letters).
namespace beckon::retry {

/// What somebody has done with a dead letter.
enum class Settlement : std::uint8_t { redriven, dropped };
std::string_view to_string(Settlement settlement);

/// A dead letter is none any more: it was sent on its way again, or dropped. Stands behind it in
/// its partition.
struct Settled {
    std::string delivery;   ///< its id
    std::string webhook;    ///< the record's key
    std::uint32_t hop = 0;  ///< of the dead letter; a later one of the same delivery differs
    Settlement how = Settlement::redriven;
    bool operator==(const Settled&) const = default;
};

core::Record encode(const Settled& settled);
/// Errors: not_found (another type of record), corrupt.
core::Result<Settled> decode_settled(const core::RecordView& record);

/// The delivery that a redrive writes: the old id, one hop more, no attempt made, and one past dead
/// letter more in its history. It is as old as its record: `accepted` is the log's to say.
Delivery reborn(const Delivery& dead, core::Timestamp died);

}  // namespace beckon::retry
