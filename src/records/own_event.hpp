#pragma once

#include "core/partition.hpp"
#include "core/record.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

/// Events that Beckon itself publishes for webhooks (docs/webhooks.md#beckons-own-events), but for
/// those of the role retry, which says when it disables a webhook or tests one.
namespace beckon::core {

/// The type of every record in `events`; the event's own stands in the event.
inline constexpr std::string_view kEventRecordType = "beckon.event.v1";

/// The partition of `events` for what keeps an event's copies together: its source and id, or its
/// owner and partition key.
Partition event_partition(std::string_view scope, std::string_view name, Partition partitions);

/// A CloudEvent for the webhooks of one owner. Its id follows from its content, so that it may be
/// published again.
struct OwnEvent {
    std::string id;
    std::string source;
    std::string type;  ///< begins with "beckon."
    std::string subject;
    std::string owner;
    std::map<std::string, std::string> data;
    bool operator==(const OwnEvent&) const = default;
};

/// Its record in `events`.
Record encode(const OwnEvent& event);
/// Its partition of `events`, the same for all copies of the event.
Partition partition_of(const OwnEvent& event, Partition partitions);

/// The owner of the webhook in this record of `webhooks`, if the webhook subscribes to events of
/// the type; the webhook's filter is not evaluated. nullopt: it does not subscribe, or the record
/// is not a webhook's.
std::optional<std::string> owner_wanting(const RecordView& webhook, std::string_view type);

}  // namespace beckon::core
