#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"

#include <optional>
#include <string>
#include <string_view>

/// The rows of the family `receipts` (docs/formats/edge-store.md#keys-of-rows). Plain functions,
/// any thread.
///
///   partition 2 ‖ 0 ‖ message key 16              the receipt
///   partition 2 ‖ 1 ‖ expiry 8 ‖ message key 16   the order in which messages expire
namespace beckon::store {

/// The receipt of a message whose sender receives its outcome.
struct Receipt {
    core::Uaid uaid;
    core::Timestamp expiry{};
    /// The message had TTL 0: its pending tombstone has the reason `expired` from the start.
    bool ttl_zero = false;
    std::string subscription;  ///< as the message's record names it
    std::string message_id;    ///< by which the sender knows the message
    bool operator==(const Receipt&) const = default;
};

struct Deadline {
    core::Timestamp expiry{};
    core::MessageKey key;
    auto operator<=>(const Deadline&) const = default;
};

std::string receipt_row_key(core::Partition partition, const core::MessageKey& key);
void append_receipt(std::string& out, const Receipt& receipt);
std::optional<Receipt> parse_receipt(std::string_view value);

std::string deadline_row_key(core::Partition partition, const Deadline& deadline);
/// The key from which the rows in that order begin.
std::string deadlines_begin(core::Partition partition);
std::optional<Deadline> parse_deadline(std::string_view row_key);

}  // namespace beckon::store
