#include "console/pages/shown_record.hpp"

#include "core/log_names.hpp"
#include "inspect/trace/trace_words.hpp"
#include "records/delivery.hpp"
#include "records/events.hpp"
#include "records/log_key.hpp"

#include <chrono>
#include <optional>

namespace beckon::console {

namespace {

using log::Topic;

/// As ids of bridged messages begin (docs/formats/retry.md#bridged-messages).
constexpr std::string_view kBridged = "msg_";
constexpr std::string_view kSecret = "(not shown: whoever has it can delete the message)";

bool is_retry(Topic topic) { return topic == Topic::kRetryDead || topic.index() >= Topic::kFixed; }

bool is_bridged(log::TopicPartition where, const core::RecordView& record) {
    return is_retry(where.topic) &&
           record.header(core::header::kId).value_or("").starts_with(kBridged);
}

/// The client whose UAID a key begins with.
std::optional<core::Uaid> client_in(log::TopicPartition where, const core::RecordView& record) {
    const bool by_client = where.topic == Topic::kNotifications ||
                           where.topic == Topic::kSubscriptions || is_bridged(where, record);
    if (!by_client || core::is_control_key(record.key)) return std::nullopt;
    const auto uuid = core::parse_hex16(record.key.substr(0, core::kHexSize));
    return uuid ? std::optional{core::Uaid{*uuid}} : std::nullopt;
}

std::string notification_words(const core::RecordView& record, ShownRecord& shown) {
    core::DecodeScratch scratch;
    const auto event = core::decode_notification(record, scratch);
    if (const auto* put = std::get_if<core::NotificationAccepted>(&event)) {
        shown.message = true;
        return "A message for channel " + core::to_dashed(put->channel) + ". " +
               inspect::accepted_words(*put, record.time + std::chrono::seconds{put->ttl_s});
    }
    if (const auto* end = std::get_if<core::NotificationFinished>(&event)) {
        shown.message = true;
        return inspect::finished_words(end->reason, record);
    }
    if (const auto* lease = std::get_if<core::Lease>(&event)) {
        return lease->removed ? "An older lease was cleared."
                              : inspect::home_words(lease->node, lease->epoch);
    }
    return {};
}

std::string delivery_words(const core::RecordView& record) {
    const auto delivery = retry::decode_delivery(record);
    if (!delivery) return {};
    auto words =
        "Delivery " + delivery->id + ", attempts made: " + std::to_string(delivery->attempts);
    if (delivery->last) words += ", the last: " + std::string{to_string(*delivery->last)};
    return words + ".";
}

std::string words_of(log::TopicPartition where, const core::RecordView& record,
                     ShownRecord& shown) {
    if (record.key.starts_with(core::kBarrierPrefix)) {
        return "A read barrier: its writer reads its own record to know that it has read all "
               "before.";
    }
    if (where.topic == Topic::kNotifications) return notification_words(record, shown);
    if (where.topic == Topic::kSubscriptions) {
        core::DecodeScratch scratch;
        return inspect::subscription_words(core::decode_subscription(record, scratch));
    }
    if (is_retry(where.topic)) return delivery_words(record);
    return {};
}

}  // namespace

ShownRecord shown_record(log::TopicPartition where, const core::RecordView& record) {
    ShownRecord shown;
    shown.words = words_of(where, record, shown);
    const auto client = client_in(where, record);
    shown.client = client.has_value() && !is_bridged(where, record);
    shown.key = client ? core::log_name(*client) + std::string{record.key.substr(core::kHexSize)}
                       : std::string{record.key};
    return shown;
}

std::string shown_header(log::TopicPartition where, const core::HeaderView& header) {
    if (where.topic == Topic::kNotifications && header.name == core::header::kId) {
        return std::string{kSecret};
    }
    return std::string{header.value};
}

std::string_view withheld(log::TopicPartition where, const core::RecordView& record) {
    if (where.topic == Topic::kWebhooks) {
        return "Webhooks hold URLs and sealed secrets; the page of the webhook has the rest.";
    }
    if (where.topic == Topic::kSubscriptions) {
        return "A client's record may hold its token at FCM or APNs; the sentence above says the "
               "rest.";
    }
    if (is_bridged(where, record)) return "A bridged message holds the client's token.";
    return {};
}

}  // namespace beckon::console
