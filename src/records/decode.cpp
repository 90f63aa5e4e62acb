#include "core/json_depth.hpp"
#include "core/json_text.hpp"
#include "records/codec.hpp"
#include "records/log_key.hpp"

#include <charconv>
#include <concepts>
#include <limits>

#include <nlohmann/json.hpp>

namespace beckon::core {

namespace {

using Json = nlohmann::json;

/// Router data is never nested deeper than this, and printing it again would cost stack.
constexpr std::size_t kJsonDepthMax = 32;

/// The headers that events are made of; the first of each name counts.
struct HeaderScan {
    std::optional<std::string_view> id, type, source, subject, ttl, topic, urgency, encoding,
        encryption, crypto_key, reliability_id, reason, epoch, seq, traceparent;

    explicit HeaderScan(std::span<const HeaderView> headers) {
        for (const auto& h : headers) {
            auto* slot = slot_of(h.name);
            if (slot && !slot->has_value()) *slot = h.value;
        }
    }

private:
    using Slot = std::optional<std::string_view>;

    /// Names differ in length first: one or two comparisons each.
    Slot* slot_of(std::string_view name) {
        const auto either = [name](std::string_view a, Slot* if_a, std::string_view b,
                                   Slot* if_b) -> Slot* {
            if (name == a) return if_a;
            return name == b ? if_b : nullptr;
        };
        switch (name.size()) {
            case header::kId.size(): return name == header::kId ? &id : nullptr;
            case header::kType.size(): return name == header::kType ? &type : nullptr;
            case header::kTtl.size(): return either(header::kTtl, &ttl, header::kSeq, &seq);
            case header::kTopic.size():
                return either(header::kTopic, &topic, header::kEpoch, &epoch);
            case header::kSource.size():
                return either(header::kSource, &source, header::kReason, &reason);
            case header::kSubject.size():
                return either(header::kSubject, &subject, header::kUrgency, &urgency);
            case header::kEncoding.size():
                return either(header::kEncoding, &encoding, header::kTraceparent, &traceparent);
            case header::kCryptoKey.size():
                return name == header::kCryptoKey ? &crypto_key : nullptr;
            case header::kEncryption.size():
                return name == header::kEncryption ? &encryption : nullptr;
            case header::kReliabilityId.size():
                return name == header::kReliabilityId ? &reliability_id : nullptr;
            default: return nullptr;
        }
    }
};

template <std::unsigned_integral Int>
std::optional<Int> parse_decimal(std::string_view text) {
    Int number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

template <class Id>
std::optional<Id> parse_hex_id(std::string_view text) {
    const auto bytes = parse_hex16(text);
    if (!bytes) return std::nullopt;
    return Id{*bytes};
}

/// A record may lack the type header. If it has one with another type, the header decides.
bool other_type(const HeaderScan& headers, std::string_view expected) {
    return headers.type && *headers.type != expected;
}

/// Parses an object, or returns the fault.
struct ParsedObject {
    Json json;
    std::string_view why;  ///< empty if `json` is an object
};

ParsedObject parse_object(std::string_view text) {
    if (is_nested_deeper(text, kJsonDepthMax)) return {{}, "value is nested too deep"};
    Json json = parse_json(text);
    if (json.is_discarded()) return {{}, "value is not JSON"};
    if (!json.is_object()) return {{}, "value is not a JSON object"};
    return {std::move(json), {}};
}

const Json* member(const Json& object, const char* name) {
    const auto at = object.find(name);
    return at == object.end() ? nullptr : &*at;
}

std::optional<Timestamp> read_time(const Json& object, const char* name) {
    const Json* at = member(object, name);
    if (!at || !at->is_number_unsigned()) return std::nullopt;
    const auto ms = at->get<std::uint64_t>();
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (ms > kMax) return std::nullopt;
    return Timestamp{std::chrono::milliseconds{static_cast<std::int64_t>(ms)}};
}

const std::string* read_text(const Json& object, const char* name) {
    const Json* at = member(object, name);
    return at ? at->get_ptr<const std::string*>() : nullptr;
}

bool is_sha256_hex(std::string_view text) {
    return text.size() == 2 * kHexSize && parse_hex16(text.substr(0, kHexSize)) &&
           parse_hex16(text.substr(kHexSize));
}

template <class Event>
Event decode_lease(const RecordView& record, DecodeScratch& scratch) {
    const std::string_view tail = record.key.substr(kLeasePrefix.size());
    if (tail.size() < kEpochDigits + 2 || tail[kEpochDigits] != '/') {
        return Unknown{"lease key is not !lease/<20 digits>/<node>"};
    }
    const auto epoch = parse_decimal<Epoch>(tail.substr(0, kEpochDigits));
    if (!epoch) return Unknown{"lease key has no epoch"};
    Lease lease{.epoch = *epoch,
                .node = tail.substr(kEpochDigits + 1),
                .role = {},
                .removed = !record.value.has_value()};
    if (lease.removed) return lease;

    const auto [json, why] = parse_object(*record.value);
    if (!why.empty()) return Unknown{why};
    const Json* written_epoch = member(json, "epoch");
    const std::string* written_node = read_text(json, "node");
    const std::string* role = read_text(json, "role");
    if (!written_epoch || !written_node || !role) return Unknown{"lease lacks epoch, node or role"};
    if (*written_epoch != lease.epoch || *written_node != lease.node) {
        return Unknown{"lease differs from its key"};
    }
    scratch.role = *role;
    lease.role = scratch.role;
    return lease;
}

/// Records that stand in both log topics. `record.key` begins with '!'.
template <class Event>
Event decode_control(const RecordView& record, DecodeScratch& scratch) {
    if (record.key.starts_with(kBarrierPrefix)) {
        const auto node = record.key.substr(kBarrierPrefix.size());
        if (node.empty()) return Unknown{"read barrier key has no node"};
        return BarrierRecord{node};
    }
    if (record.key.starts_with(kLeasePrefix)) return decode_lease<Event>(record, scratch);
    return Unknown{"unknown control key"};
}

NotificationsEvent decode_accepted(const RecordView& record, NotificationAccepted event) {
    const HeaderScan headers{record.headers};
    if (other_type(headers, event_type::kAccepted)) return Unknown{"unknown event type"};
    if (!headers.id || headers.id->empty()) return Unknown{"no ce_id"};
    if (!headers.subject) return Unknown{"no ce_subject"};
    if (!headers.ttl) return Unknown{"no ce_ttl"};
    const auto channel = parse_dashed(*headers.subject);
    if (!channel) return Unknown{"ce_subject is not a channel id"};
    const auto ttl_s = parse_decimal<std::uint32_t>(*headers.ttl);
    if (!ttl_s) return Unknown{"ce_ttl is not a number of seconds"};
    if (headers.urgency) {
        event.urgency = parse_urgency(*headers.urgency);
        if (!event.urgency) return Unknown{"ce_urgency is none of RFC 8030"};
    }
    event.message_id = *headers.id;
    event.channel = ChannelId{*channel};
    event.ttl_s = *ttl_s;
    event.topic = headers.topic;
    event.encoding = headers.encoding;
    event.encryption = headers.encryption;
    event.crypto_key = headers.crypto_key;
    event.reliability_id = headers.reliability_id;
    event.traceparent = headers.traceparent;
    event.source = headers.source.value_or(std::string_view{});
    event.body = *record.value;
    return event;
}

/// A null value finishes the message, even with unknown headers: compaction reads the key alone.
NotificationFinished decode_finished(const RecordView& record, const Uaid& uaid,
                                     const MessageKey& key) {
    const HeaderScan headers{record.headers};
    const auto reason = headers.reason ? parse_finish_reason(*headers.reason) : std::nullopt;
    return NotificationFinished{.uaid = uaid,
                                .key = key,
                                .reason = reason.value_or(FinishReason::dropped),
                                .source = headers.source.value_or(std::string_view{})};
}

/// The (epoch, seq) of a record of `subscriptions`.
struct ReadStamp {
    std::optional<WriteStamp> stamp;
    bool valid = true;
};

ReadStamp read_stamp(const HeaderScan& headers) {
    if (!headers.epoch && !headers.seq) return {};
    if (!headers.epoch || !headers.seq) return {{}, false};
    const auto epoch = parse_decimal<Epoch>(*headers.epoch);
    const auto seq = parse_decimal<std::uint64_t>(*headers.seq);
    if (!epoch || !seq) return {{}, false};
    return {WriteStamp{*epoch, *seq}, true};
}

SubscriptionsEvent decode_client(const RecordView& record, const Uaid& uaid,
                                 const std::optional<WriteStamp>& stamp, DecodeScratch& scratch) {
    if (!record.value) return ClientRemoved{uaid, stamp};
    const auto [json, why] = parse_object(*record.value);
    if (!why.empty()) return Unknown{why};
    const std::string* type_text = read_text(json, "router_type");
    const auto type = type_text ? parse_router_type(*type_text) : std::nullopt;
    const auto created = read_time(json, "created");
    const auto last_seen = read_time(json, "last_seen");
    if (!type) return Unknown{"client has no known router_type"};
    if (!created || !last_seen) return Unknown{"client lacks created or last_seen"};
    ClientRecorded event{.uaid = uaid,
                         .router_type = *type,
                         .router_data = std::nullopt,
                         .created = *created,
                         .last_seen = *last_seen,
                         .stamp = stamp};
    if (const Json* data = member(json, "router_data")) {
        if (!data->is_object()) return Unknown{"router_data is not a JSON object"};
        scratch.router_data = core::json_text(*data);
        event.router_data = scratch.router_data;
    }
    return event;
}

SubscriptionsEvent decode_channel(const RecordView& record, const Uaid& uaid,
                                  const ChannelId& channel, const std::optional<WriteStamp>& stamp,
                                  DecodeScratch& scratch) {
    if (!record.value) return ChannelRemoved{uaid, channel, stamp};
    const auto [json, why] = parse_object(*record.value);
    if (!why.empty()) return Unknown{why};
    const auto created = read_time(json, "created");
    if (!created) return Unknown{"channel lacks created"};
    ChannelRecorded event{.uaid = uaid,
                          .channel = channel,
                          .created = *created,
                          .vapid_sha256 = std::nullopt,
                          .stamp = stamp};
    if (member(json, "vapid_sha256")) {
        const std::string* sha = read_text(json, "vapid_sha256");
        if (!sha || !is_sha256_hex(*sha)) return Unknown{"vapid_sha256 is not 64 hex digits"};
        scratch.vapid_sha256 = *sha;
        event.vapid_sha256 = scratch.vapid_sha256;
    }
    return event;
}

}  // namespace

NotificationsEvent decode_notification(const RecordView& record, DecodeScratch& scratch) {
    if (is_control_key(record.key)) return decode_control<NotificationsEvent>(record, scratch);
    if (record.key.size() != 2 * kHexSize + 1 || record.key[kHexSize] != '/') {
        return Unknown{"key is not <uaid>/<message key>"};
    }
    const auto uaid = parse_hex_id<Uaid>(record.key.substr(0, kHexSize));
    const auto key = parse_hex_id<MessageKey>(record.key.substr(kHexSize + 1));
    if (!uaid || !key) return Unknown{"key is not <uaid>/<message key>"};
    if (!record.value) return decode_finished(record, *uaid, *key);
    NotificationAccepted event;
    event.uaid = *uaid;
    event.key = *key;
    return decode_accepted(record, event);
}

SubscriptionsEvent decode_subscription(const RecordView& record, DecodeScratch& scratch) {
    if (is_control_key(record.key)) return decode_control<SubscriptionsEvent>(record, scratch);
    const auto uaid = parse_hex_id<Uaid>(record.key.substr(0, kHexSize));
    if (!uaid) return Unknown{"key does not begin with a uaid"};
    const HeaderScan headers{record.headers};
    const auto [stamp, valid] = read_stamp(headers);
    const std::string_view tail = record.key.substr(kHexSize);
    if (tail.empty()) {
        if (record.value && other_type(headers, event_type::kClient))
            return Unknown{"unknown event type"};
        if (!valid) return Unknown{"ce_epoch and ce_seq are not two numbers"};
        return decode_client(record, *uaid, stamp, scratch);
    }
    const auto channel = tail.front() == '/' ? parse_dashed(tail.substr(1)) : std::nullopt;
    if (!channel) return Unknown{"key is neither <uaid> nor <uaid>/<channel id>"};
    if (record.value && other_type(headers, event_type::kChannel))
        return Unknown{"unknown event type"};
    if (!valid) return Unknown{"ce_epoch and ce_seq are not two numbers"};
    return decode_channel(record, *uaid, ChannelId{*channel}, stamp, scratch);
}

}  // namespace beckon::core
