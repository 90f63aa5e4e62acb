#pragma once

#include "core/partition.hpp"
#include "core/record.hpp"
#include "core/result.hpp"

#include <map>
#include <string>
#include <string_view>

namespace beckon::retry {

/// An event as applications post it: a CloudEvent (1.0), kept as the text of one JSON object. Its
/// data keep their posted text: they are parsed only to read them.
struct Event {
    std::string source;
    std::string id;  ///< with `source` it names the event; posting it again changes nothing
    std::string type;
    std::string json;  ///< the whole of it
    /// The owner whose webhooks it may reach (the attribute `beckonowner`); empty: all owners.
    std::string owner{};
    /// Events of one owner with the same one are fanned out in the order of the log (the attribute
    /// `partitionkey`, CloudEvents' extension "Partitioning"); empty: in any order.
    std::string partition_key{};
    bool operator==(const Event&) const = default;
};

/// The limit of `Event::json`, which goes to the log: with the owner, and with base64 in place of
/// bytes.
inline constexpr std::size_t kEventBytesMax = std::size_t{256} * 1024;
inline constexpr std::size_t kAttributeNameBytesMax = 128;
inline constexpr const char* kOwnerAttribute = "beckonowner";
inline constexpr const char* kPartitionKeyAttribute = "partitionkey";

/// True if the JSON nests deeper than parsers and writers may go.
bool is_too_deep(std::string_view json);

/// The event, restricted to the webhooks of one owner. Errors: too_large.
core::Result<Event> for_owner(const Event& event, const std::string& owner);

/// The scope of an event's id: the source, or owner and source. Two owners that use the same source
/// and id have posted two events.
std::string scope_of(const Event& event);

/// Structured mode: the body is the event. An attribute that is null counts as absent. Errors:
/// invalid (the fault with its JSON path), too_large.
core::Result<Event> parse_structured(std::string_view body);
/// The same of an element of a batch, whose text core::json_value() has let pass.
core::Result<Event> parse_element(std::string_view value);

/// Binary mode: `ce-…` headers (names in lower case, without the prefix; decoded values) and the
/// data as the body. JSON data stay unchanged, other UTF-8 text becomes a string, and all other
/// data become `data_base64`. Errors: as above.
core::Result<Event> parse_binary(const std::map<std::string, std::string>& attributes,
                                 std::string_view content_type, std::string_view body);

/// Its partition of `events`, the same for all copies of an event: by owner and partition key, or
/// without one by source and id.
core::Partition partition_of(const Event& event, core::Partition partitions);

/// The record of `events`.
core::Record encode(const Event& event);
/// Whether a record of `events` is one; an event's id, which is its key, may be of any form.
bool is_event(const core::RecordView& record);
/// Checks what the role reads of an event, and no more: the rest was checked when it was posted.
/// Errors: corrupt.
core::Result<Event> decode_event(const core::RecordView& record);
/// Of an event, what event_name() needs, without a look at the rest: of many events in a row only
/// the names matter. Of a record that is no event, some name or none.
std::optional<Event> decode_event_name(const core::RecordView& record);

}  // namespace beckon::retry
