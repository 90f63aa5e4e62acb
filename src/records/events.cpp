#include "records/events.hpp"

#include "records/fields.hpp"

#include <optional>

namespace beckon::core {

namespace {

/// `event`, which has the key's ids, filled by read_record(); Unknown if that fails.
template <class AnyEvent, class Event, class... Scratch>
AnyEvent completed(const RecordView& record, Event event, Scratch&... scratch) {
    if (const auto why = read_record(record, scratch..., event); !why.empty()) return Unknown{why};
    return event;
}

/// Records that stand in both log topics. `record.key` begins with '!'.
template <class Event>
Event decode_control(const RecordView& record, DecodeScratch& scratch) {
    if (record.key.starts_with(kBarrierPrefix)) {
        return completed<Event>(record, BarrierRecord{});
    }
    if (record.key.starts_with(kLeasePrefix)) {
        return completed<Event>(record, Lease{}, scratch.role);
    }
    return Unknown{"unknown control key"};
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
    if (!record.value) {
        NotificationFinished event{.uaid = *uaid, .key = *key, .source = {}};
        read_record(record, event);
        return event;
    }
    return completed<NotificationsEvent>(record, NotificationAccepted{.uaid = *uaid, .key = *key});
}

SubscriptionsEvent decode_subscription(const RecordView& record, DecodeScratch& scratch) {
    if (is_control_key(record.key)) return decode_control<SubscriptionsEvent>(record, scratch);
    const auto uaid = parse_hex_id<Uaid>(record.key.substr(0, kHexSize));
    if (!uaid) return Unknown{"key does not begin with a uaid"};
    const std::string_view tail = record.key.substr(kHexSize);
    if (tail.empty()) {
        if (!record.value)
            return completed<SubscriptionsEvent>(record, ClientRemoved{.uaid = *uaid});
        return completed<SubscriptionsEvent>(record, ClientRecorded{.uaid = *uaid},
                                             scratch.router_data);
    }
    const auto channel = tail.front() == '/' ? parse_dashed(tail.substr(1)) : std::nullopt;
    if (!channel) return Unknown{"key is neither <uaid> nor <uaid>/<channel id>"};
    const ChannelId id{*channel};
    if (!record.value)
        return completed<SubscriptionsEvent>(record, ChannelRemoved{.uaid = *uaid, .channel = id});
    return completed<SubscriptionsEvent>(record, ChannelRecorded{.uaid = *uaid, .channel = id},
                                         scratch.vapid_sha256);
}

}  // namespace beckon::core
