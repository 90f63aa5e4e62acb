#include "records/codec.hpp"

#include "core/assert.hpp"
#include "core/json_text.hpp"
#include "records/log_key.hpp"

#include <array>
#include <charconv>

#include <nlohmann/json.hpp>

namespace beckon::core {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kSpecVersionValue = "1.0";
constexpr std::string_view kJsonContent = "application/json";

std::string uaid_key(const Uaid& uaid) { return to_hex(uaid); }

std::string message_log_key(const Uaid& uaid, const MessageKey& key) {
    std::string out;
    out.reserve(2 * kHexSize + 1);
    append_hex(out, uaid.bytes);
    out.push_back('/');
    append_hex(out, key.bytes);
    return out;
}

std::string channel_log_key(const Uaid& uaid, const ChannelId& channel) {
    std::string out;
    out.reserve(kHexSize + 1 + kDashedSize);
    append_hex(out, uaid.bytes);
    out.push_back('/');
    append_dashed(out, channel.bytes);
    return out;
}

std::string lease_log_key(const Lease& lease) {
    std::string digits = std::to_string(lease.epoch);
    std::string out{kLeasePrefix};
    out.append(kEpochDigits - digits.size(), '0').append(digits);
    out.push_back('/');
    out.append(lease.node);
    return out;
}

std::string decimal(std::uint64_t number) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return {digits.data(), end};
}

/// Appends headers to one record; headers without information are not written.
class HeaderWriter {
public:
    HeaderWriter(Record& record, std::size_t expected) : headers_(record.headers) {
        headers_.reserve(expected);
    }
    void add(std::string_view name, std::string value) {
        headers_.push_back(Header{name, std::move(value)});
    }
    void add(std::string_view name, std::string_view value) { add(name, std::string{value}); }
    void add_if(std::string_view name, const std::optional<std::string_view>& value) {
        if (value) add(name, *value);
    }
    void add_number(std::string_view name, std::uint64_t value) { add(name, decimal(value)); }
    void add_stamp(const std::optional<WriteStamp>& stamp) {
        if (!stamp) return;
        add_number(header::kEpoch, stamp->epoch);
        add_number(header::kSeq, stamp->seq);
    }

private:
    std::vector<Header>& headers_;
};

std::int64_t to_ms(Timestamp time) { return time.time_since_epoch().count(); }

/// A record of `subscriptions`; no value makes the tombstone.
Record state_record(std::string key, std::string_view type, std::optional<std::string> value,
                    const std::optional<WriteStamp>& stamp) {
    Record record{.key = std::move(key), .value = std::move(value), .headers = {}};
    HeaderWriter headers{record, 5};
    headers.add(header::kSpecVersion, kSpecVersionValue);
    headers.add(header::kType, type);
    if (record.value) headers.add(header::kContentType, kJsonContent);
    headers.add_stamp(stamp);
    return record;
}

}  // namespace

Record encode(const NotificationAccepted& event) {
    Record record{.key = message_log_key(event.uaid, event.key),
                  .value = std::string{event.body},
                  .headers = {}};
    HeaderWriter headers{record, 13};
    headers.add(header::kSpecVersion, kSpecVersionValue);
    headers.add(header::kType, event_type::kAccepted);
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
    headers.add(header::kType, event_type::kFinished);
    headers.add(header::kReason, to_string(event.reason));
    if (!event.source.empty()) headers.add(header::kSource, event.source);
    return record;
}

Record encode(const ClientRecorded& event) {
    Json value{{"router_type", to_string(event.router_type)},
               {"created", to_ms(event.created)},
               {"last_seen", to_ms(event.last_seen)}};
    if (event.router_data) {
        Json data = parse_json(*event.router_data);
        BECKON_ASSERT(data.is_object(), "router data is checked where it enters");
        value["router_data"] = std::move(data);
    }
    return state_record(uaid_key(event.uaid), event_type::kClient, core::json_text(value),
                        event.stamp);
}

Record encode(const ClientRemoved& event) {
    return state_record(uaid_key(event.uaid), event_type::kClient, std::nullopt, event.stamp);
}

Record encode(const ChannelRecorded& event) {
    Json value{{"created", to_ms(event.created)}};
    if (event.vapid_sha256) value["vapid_sha256"] = *event.vapid_sha256;
    return state_record(channel_log_key(event.uaid, event.channel), event_type::kChannel,
                        core::json_text(value), event.stamp);
}

Record encode(const ChannelRemoved& event) {
    return state_record(channel_log_key(event.uaid, event.channel), event_type::kChannel,
                        std::nullopt, event.stamp);
}

Record encode(const BarrierRecord& event) {
    Record record{.key = std::string{kBarrierPrefix}.append(event.node),
                  .value = std::nullopt,
                  .headers = {}};
    HeaderWriter headers{record, 2};
    headers.add(header::kType, event_type::kBarrier);
    headers.add(header::kNode, event.node);
    return record;
}

Record encode(const Lease& event) {
    std::optional<std::string> value;
    if (!event.removed) {
        value = core::json_text(
            Json{{"epoch", event.epoch}, {"node", event.node}, {"role", event.role}});
    }
    return state_record(lease_log_key(event), event_type::kLease, std::move(value), std::nullopt);
}

}  // namespace beckon::core
