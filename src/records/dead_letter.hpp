#pragma once

#include "core/enum_names.hpp"
#include "core/record.hpp"
#include "core/result.hpp"
#include "records/delivery.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// The records of `retry.dead` beside the deliveries that were given up
/// (docs/formats/retry.md#dead-letters).
namespace beckon::retry {

/// How a dead letter was settled.
enum class Settlement : std::uint8_t { redriven, dropped };
inline std::string_view to_string(Settlement settlement) { return core::name_of(settlement); }

/// A dead letter was settled: redriven or dropped. The record follows the letter in its partition.
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

/// The delivery that a redrive publishes: the old id, one hop more, no attempts, and one more past
/// dead letter in its history. Its age begins with its record: the log gives `accepted`.
Delivery reborn(const Delivery& dead, core::Timestamp died);

}  // namespace beckon::retry
