#include "records/receipt.hpp"

#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "records/fields.hpp"
#include "records/log_key.hpp"

#include <nlohmann/json.hpp>

namespace beckon::core {

namespace {

constexpr std::string_view kNobodyPrefix = "receipt:";  // ':' is in no owner's name
constexpr std::size_t kHashDigits = 64;
constexpr const char* kMessagesSource = "/beckon/messages";
constexpr const char* kTypePrefix = "beckon.message.";

std::string owner_of(const ReceiptRef& receipt) {
    if (receipt.sender) return owner_name(*receipt.sender);
    return std::string{kNobodyPrefix}.append(to_hex(receipt.id));
}

}  // namespace

std::string to_text(const ReceiptRef& receipt) {
    auto text = to_hex(receipt.id);
    if (receipt.sender) text.append(1, '.').append(to_hex(*receipt.sender));
    return text;
}

std::optional<ReceiptRef> parse_receipt(std::string_view text) {
    const auto id = parse_hex16(text.substr(0, kHexSize));
    if (!id) return std::nullopt;
    ReceiptRef receipt{.id = {*id}, .sender = std::nullopt};
    if (text.size() == kHexSize) return receipt;
    const auto sender = parse_hex16(text.substr(kHexSize + 1));
    if (text[kHexSize] != '.' || !sender) return std::nullopt;
    receipt.sender = SenderId{*sender};
    return receipt;
}

std::string owner_name(const SenderId& sender) {
    return std::string{kVapidOwner}.append(to_hex(sender));
}

std::optional<std::string> owner_name_of_hash(std::string_view vapid_sha256) {
    if (vapid_sha256.size() != kHashDigits) return std::nullopt;
    const auto first = parse_hex16(vapid_sha256.substr(0, kHexSize));
    if (!first) return std::nullopt;
    return owner_name(SenderId{*first});
}

Outcome outcome_of(FinishReason reason) {
    switch (reason) {
        case FinishReason::acked: return Outcome::acknowledged;
        case FinishReason::expired: return Outcome::expired;
        case FinishReason::replaced:
        case FinishReason::dropped:
        case FinishReason::deleted:
        case FinishReason::unregistered: return Outcome::gone;
    }
    return Outcome::gone;
}

int status_of(Outcome outcome) { return outcome == Outcome::acknowledged ? 204 : 410; }

OwnEvent event_of(const ReceiptOutcome& reported) {
    const std::string outcome{to_string(outcome_of(reported.reason))};
    return {.id = reported.message_id + "/" + outcome,
            .source = kMessagesSource,
            .type = kTypePrefix + outcome,
            .subject = reported.message_id,
            .owner = owner_of(reported.to),
            .data = {{"message", reported.message_id},
                     {"outcome", outcome},
                     {"reason", std::string{to_string(reported.reason)}},
                     {"receipt", to_hex(reported.to.id)}}};
}

Record encode(const ReceiptOutcome& reported) {
    auto record = encode(event_of(reported));
    record.headers.push_back({kReceiptHeader, to_text(reported.to)});
    return record;
}

std::optional<ReceiptOutcome> decode_receipt(const RecordView& record) {
    const auto header = record.header(kReceiptHeader);
    const auto to = header ? parse_receipt(*header) : std::nullopt;
    if (!to || !record.value) return std::nullopt;
    const auto event = parse_json(*record.value);
    const auto* data = find_object(event, "data");
    if (!data) return std::nullopt;
    const auto* message = find_text(*data, "message");
    const auto* reason = find_text(*data, "reason");
    const auto known = reason ? parse_finish_reason(*reason) : std::nullopt;
    if (!message || message->empty() || !known) return std::nullopt;
    return ReceiptOutcome{.to = *to, .message_id = *message, .reason = *known};
}

Partition partition_of(const ReceiptId& subscription, Partition partitions) {
    return partition_of(to_hex(subscription), partitions);
}

}  // namespace beckon::core
