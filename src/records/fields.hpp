#pragma once

#include "core/clock.hpp"
#include "core/decimal.hpp"
#include "core/ids.hpp"
#include "core/record.hpp"
#include "core/tokens.hpp"
#include "records/headers.hpp"
#include "records/write_stamp.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

/// Common code of the codecs of this folder: headers, numbers and members of values.
namespace beckon::core {

std::int64_t to_ms(Timestamp time);

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
    /// The first headers of a record that is an event or a state.
    void add_type(std::string_view type) {
        add(header::kSpecVersion, std::string{"1.0"});
        add(header::kType, type);
    }
    void add_if(std::string_view name, const std::optional<std::string_view>& value) {
        if (value) add(name, *value);
    }
    void add_number(std::string_view name, std::uint64_t value) {
        add(name, std::to_string(value));
    }
    void add_stamp(const std::optional<WriteStamp>& stamp) {
        if (!stamp) return;
        add_number(header::kEpoch, stamp->epoch);
        add_number(header::kSeq, stamp->seq);
    }

private:
    std::vector<Header>& headers_;
};

/// A record with its type; `content`: the media type of its value, without which it has no header.
Record record_of(std::string key, std::optional<std::string> value, std::string_view type,
                 std::string_view content = {});
/// A record whose value is JSON; no value makes the tombstone. `stamp`: of `subscriptions`.
Record state_record(std::string key, std::string_view type, std::optional<std::string> value,
                    const std::optional<WriteStamp>& stamp = std::nullopt);
/// From 64 hex digits, lower case; nullopt for anything else.
std::optional<Sha256> parse_sha256(std::string_view text);
/// The epoch of a lease in a key, so that keys of leases sort.
std::string padded(Epoch epoch);

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

template <class Id>
std::optional<Id> parse_hex_id(std::string_view text) {
    const auto bytes = parse_hex16(text);
    if (!bytes) return std::nullopt;
    return Id{*bytes};
}

/// A record may lack the type header. If it has one with another type, the header decides.
inline bool other_type(const HeaderScan& headers, std::string_view expected) {
    return headers.type && *headers.type != expected;
}

/// The (epoch, seq) of a record of `subscriptions`. Returns why it cannot be read, or an empty
/// text.
std::string_view read_stamp(const HeaderScan& headers, std::optional<WriteStamp>& into);

using Json = nlohmann::json;

/// Parses an object, or returns the fault.
struct ParsedObject {
    Json json;
    std::string_view why;  ///< empty if `json` is an object
};
ParsedObject parse_object(std::string_view text);
/// A member of an object that was parsed; nullopt: it is missing, or of another kind.
std::optional<Timestamp> read_time(const Json& object, const char* name);

}  // namespace beckon::core
