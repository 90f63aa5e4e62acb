#pragma once

#include "core/enum_names.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/record.hpp"
#include "core/tokens.hpp"
#include "records/message.hpp"
#include "records/own_event.hpp"

#include <optional>
#include <string>
#include <string_view>

/// Push message receipts (RFC 8030 §5.1, §6.3): which subscription receives the outcome of a
/// message, and its form (docs/protocol/receipts.md). Pure functions, any thread.
namespace beckon::core {

/// The header that names the receiver of a message's outcome, in the form of to_text(). The
/// message's record has it, and the event that reports the outcome.
inline constexpr std::string_view kReceiptHeader = "ce_receipt";

/// `<32 hex digits>`, or `<32 hex digits>.<32 hex digits>` with a sender.
std::string to_text(const ReceiptRef& receipt);
std::optional<ReceiptRef> parse_receipt(std::string_view text);

/// The prefix of an owner's name that is derived from a VAPID key.
inline constexpr std::string_view kVapidOwner = "vapid-";

/// The owner of events that concern an application server: `vapid-<32 hex digits>`, a name as
/// tokens of the events API have it.
std::string owner_name(const SenderId& sender);
/// The owner's name from the SHA-256 of a VAPID key as 64 hex digits; nullopt for any other text.
std::optional<std::string> owner_name_of_hash(std::string_view vapid_sha256);

/// The outcome of a message, as its sender receives it.
enum class Outcome : std::uint8_t { acknowledged, expired, gone };
inline std::string_view to_string(Outcome outcome) { return name_of(outcome); }
Outcome outcome_of(FinishReason reason);
/// The status of RFC 8030 §6.3: 204 for an acknowledged message, 410 for any other outcome.
int status_of(Outcome outcome);

struct ReceiptOutcome {
    ReceiptRef to;
    std::string message_id;
    FinishReason reason = FinishReason::acked;
    bool operator==(const ReceiptOutcome&) const = default;
};

/// The event `beckon.message.<outcome>`. Without a sender, the event's owner is a name that no
/// webhook has.
OwnEvent event_of(const ReceiptOutcome& reported);
/// Its record in `events`, which both webhooks and receipt resources read.
Record encode(const ReceiptOutcome& reported);
/// nullopt: another event.
std::optional<ReceiptOutcome> decode_receipt(const RecordView& record);
/// Its partition of `events`: one partition has all outcomes of one receipt subscription.
Partition partition_of(const ReceiptId& subscription, Partition partitions);

}  // namespace beckon::core
