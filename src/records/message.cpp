#include "records/message.hpp"

#include "records/fields.hpp"
#include "records/log_key.hpp"

#include <string>

namespace beckon::core {

namespace {

constexpr std::string_view kAccepted = "beckon.notification.accepted.v1";
constexpr std::string_view kFinished = "beckon.notification.finished.v1";

std::string message_log_key(const Uaid& uaid, const MessageKey& key) {
    std::string out;
    out.reserve(2 * kHexSize + 1);
    append_hex(out, uaid.bytes);
    out.push_back('/');
    append_hex(out, key.bytes);
    return out;
}

}  // namespace

std::string_view to_string(Urgency urgency) {
    switch (urgency) {
        case Urgency::very_low: return "very-low";
        case Urgency::low: return "low";
        case Urgency::normal: return "normal";
        case Urgency::high: return "high";
    }
    return "unknown";
}

std::optional<Urgency> parse_urgency(std::string_view text) {
    for (const auto urgency : kValuesOf<Urgency>) {
        if (to_string(urgency) == text) return urgency;
    }
    return std::nullopt;
}

Record encode(const NotificationAccepted& event) {
    Record record{.key = message_log_key(event.uaid, event.key),
                  .value = std::string{event.body},
                  .headers = {}};
    HeaderWriter headers{record, 13};
    headers.add_type(kAccepted);
    headers.add(header::kId, event.message_id);
    headers.add(header::kSource, event.source);
    headers.add(header::kSubject, to_dashed(event.channel));
    headers.add_number(header::kTtl, event.ttl_s);
    headers.add_if(header::kTopic, event.topic);
    if (event.urgency) headers.add(header::kUrgency, to_string(*event.urgency));
    headers.add_if(header::kEncoding, event.encoding);
    headers.add_if(header::kEncryption, event.encryption);
    headers.add_if(header::kCryptoKey, event.crypto_key);
    headers.add_if(header::kReliabilityId, event.reliability_id);
    headers.add_if(header::kTraceparent, event.traceparent);
    return record;
}

Record encode(const NotificationFinished& event) {
    Record record{
        .key = message_log_key(event.uaid, event.key), .value = std::nullopt, .headers = {}};
    HeaderWriter headers{record, 3};
    headers.add(header::kType, kFinished);
    headers.add(header::kReason, to_string(event.reason));
    if (!event.source.empty()) headers.add(header::kSource, event.source);
    return record;
}

std::string_view read_record(const RecordView& record, NotificationAccepted& into) {
    const HeaderScan headers{record.headers};
    if (other_type(headers, kAccepted)) return "unknown event type";
    if (!headers.id || headers.id->empty()) return "no ce_id";
    if (!headers.subject) return "no ce_subject";
    if (!headers.ttl) return "no ce_ttl";
    const auto channel = parse_dashed(*headers.subject);
    if (!channel) return "ce_subject is not a channel id";
    const auto ttl_s = parse_decimal<std::uint32_t>(*headers.ttl);
    if (!ttl_s) return "ce_ttl is not a number of seconds";
    if (headers.urgency) {
        into.urgency = parse_urgency(*headers.urgency);
        if (!into.urgency) return "ce_urgency is none of RFC 8030";
    }
    into.message_id = *headers.id;
    into.channel = ChannelId{*channel};
    into.ttl_s = *ttl_s;
    into.topic = headers.topic;
    into.encoding = headers.encoding;
    into.encryption = headers.encryption;
    into.crypto_key = headers.crypto_key;
    into.reliability_id = headers.reliability_id;
    into.traceparent = headers.traceparent;
    into.source = headers.source.value_or(std::string_view{});
    into.body = *record.value;
    return {};
}

void read_record(const RecordView& record, NotificationFinished& into) {
    const HeaderScan headers{record.headers};
    const auto reason = headers.reason ? parse_finish_reason(*headers.reason) : std::nullopt;
    into.reason = reason.value_or(FinishReason::dropped);
    into.source = headers.source.value_or(std::string_view{});
}

}  // namespace beckon::core
