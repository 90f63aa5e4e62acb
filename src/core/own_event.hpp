#pragma once

#include "core/partition.hpp"
#include "core/record.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

/// What Beckon itself knows, as an event for webhooks (docs/webhooks.md#beckons-own-events).
namespace beckon::core {

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
/// Of `events`, where copies of it meet.
Partition partition_of(const OwnEvent& event, Partition partitions);

/// Whose webhook a record of `webhooks` is, if that wants events of the type. Of its filter nothing
/// is known here. nullopt: it does not, or the record is none of a webhook.
std::optional<std::string> owner_wanting(const RecordView& webhook, std::string_view type);

}  // namespace beckon::core
