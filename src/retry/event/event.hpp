#pragma once

#include "core/partition.hpp"
#include "core/record.hpp"
#include "core/result.hpp"

#include <map>
#include <string>
#include <string_view>

namespace beckon::retry {

/// An event as applications post it: a CloudEvent (1.0), kept as the text of one JSON object. Its
/// data stand in there as they came: they are parsed only to look at them.
struct Event {
    std::string source;
    std::string id;  ///< with `source` it names the event; posting it again changes nothing
    std::string type;
    std::string json;  ///< the whole of it
    /// Whose webhooks it may reach (the attribute `beckonowner`); empty: everybody's.
    std::string owner{};
    bool operator==(const Event&) const = default;
};

/// Of `Event::json`, which is what the log gets: with the owner, and with base64 in place of bytes.
inline constexpr std::size_t kEventBytesMax = std::size_t{256} * 1024;
inline constexpr std::size_t kAttributeNameBytesMax = 128;
inline constexpr const char* kOwnerAttribute = "beckonowner";

/// JSON whose nesting a parser or a writer would rather not try.
bool is_too_deep(std::string_view json);

/// The same event for the webhooks of one owner only. Errors: too_large.
core::Result<Event> for_owner(const Event& event, const std::string& owner);

/// What is unique together with the id: the source, or owner and source. Two owners that use the
/// same source and id have posted two events.
std::string scope_of(const Event& event);

/// Structured mode: the body is the event. An attribute that is null counts as one that is not
/// there. Errors: invalid (what is wrong, with its JSON path), too_large.
core::Result<Event> parse_structured(std::string_view body);

/// Binary mode: `ce-…` headers (names in lower case, without the prefix; decoded values) and the
/// data as the body. JSON data stand in the event as they came, other text in UTF-8 as a string,
/// everything else as `data_base64`. Errors: as above.
core::Result<Event> parse_binary(const std::map<std::string, std::string>& attributes,
                                 std::string_view content_type, std::string_view body);

/// The partition of `events`: copies of an event meet there.
core::Partition partition_of(const Event& event, core::Partition partitions);

/// The record of `events`.
core::Record encode(const Event& event);
/// Also of what an older build accepted with looser rules. Errors: corrupt.
core::Result<Event> decode_event(const core::RecordView& record);

}  // namespace beckon::retry
