#include "retry/event/event.hpp"

#include "core/ascii.hpp"
#include "core/base64url.hpp"
#include "core/json_depth.hpp"
#include "core/json_parts.hpp"
#include "core/json_text.hpp"
#include "core/media_type.hpp"
#include "core/terminal_text.hpp"
#include "records/fields.hpp"
#include "records/own_event.hpp"
#include "retry/event/filter/date.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using core::JsonMember;
using Json = nlohmann::json;

namespace {

constexpr std::size_t kAttributeBytesMax = 1'024;
constexpr std::size_t kContentTypeBytesMax = 256;
/// Of an event: each takes longer to check than to send, and events are read again after a start.
constexpr std::size_t kAttributesMax = 128;
constexpr std::size_t kDataMembers = 2;
constexpr std::size_t kDepthMax = 64;
constexpr const char* kTooDeep = "$ is nested too deeply: at most 64 levels";
constexpr const char* kData = "data";
constexpr const char* kDataBase64 = "data_base64";
constexpr const char* kContentType = "datacontenttype";

tl::unexpected<core::Error> invalid(std::string why) {
    return core::fail(Fault::invalid, std::move(why));
}

/// The path of a member; its name may come from a request.
tl::unexpected<core::Error> invalid(const std::string& name, std::string_view why) {
    constexpr std::size_t kNameShown = 64;
    return invalid("$." + name.substr(0, kNameShown) + " " + std::string{why});
}

bool is_attribute_name(std::string_view name) {
    return !name.empty() && name.size() <= kAttributeNameBytesMax &&
           core::is_lower_alphanumeric(name);
}

/// The attributes of an event's text, without its data.
using Attributes = std::map<std::string, Json, std::less<>>;

bool is_data(std::string_view name) { return name == kData || name == kDataBase64; }

/// Without members that are null: such an attribute is not set (CloudEvents JSON format).
std::vector<JsonMember> set_members(std::vector<JsonMember> members) {
    std::erase_if(members,
                  [](const auto& one) { return one.value == "null" && one.name != kData; });
    return members;
}

/// Those that the role itself reads of an event in the log.
bool is_read(std::string_view name) {
    constexpr std::array<std::string_view, 6> kRead{
        "specversion", "id", "source", "type", kOwnerAttribute, kPartitionKeyAttribute};
    return std::find(kRead.begin(), kRead.end(), name) != kRead.end();
}

Attributes attributes_of(const std::vector<JsonMember>& members) {
    Attributes attributes;
    for (const auto& [name, value] : members) {
        if (!is_data(name)) attributes.insert_or_assign(name, core::must_parse_json(value));
    }
    return attributes;
}

/// The text of an attribute that names something, or its fault.
core::Result<std::string> naming_text(const std::string& name, const Json& value) {
    if (!value.is_string()) return invalid(name, "must be a string");
    auto text = value.get<std::string>();
    if (text.empty() || text.size() > kAttributeBytesMax) {
        return invalid(name, "must have 1 to 1024 bytes");
    }
    if (core::has_terminal_control(text)) return invalid(name, "must have no control characters");
    return text;
}

/// A required attribute, or its fault.
core::Result<std::string> required(const Attributes& attributes, const char* name) {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return invalid(name, "is missing");
    return naming_text(name, found->second);
}

/// The event of this text, as far as we read it.
core::Result<Event> event_of(const Attributes& attributes, std::string json) {
    const auto version = attributes.find("specversion");
    if (version == attributes.end() || version->second != "1.0") {
        return invalid("specversion", "must be \"1.0\"");
    }
    std::optional<core::Error> fault;  // the first one
    const auto text = [&](const char* name) {
        auto given = required(attributes, name);
        if (!given && !fault) fault = given.error();
        return given.value_or("");
    };
    auto id = text("id");
    auto source = text("source");
    auto type = text("type");
    auto owner = attributes.contains(kOwnerAttribute) ? text(kOwnerAttribute) : "";
    if (fault) return core::fail(*fault);
    Event event{.source = std::move(source),
                .id = std::move(id),
                .type = std::move(type),
                .json = std::move(json),
                .owner = std::move(owner)};
    const auto partition_key = attributes.find(kPartitionKeyAttribute);
    if (partition_key != attributes.end() && partition_key->second.is_string()) {
        event.partition_key = partition_key->second.get<std::string>();
    }
    return event;
}

// ------------------------------------------------------- rules for events that are posted now

/// A time with its day and its distance from UTC: receivers' libraries take nothing less.
bool is_rfc3339_time(const std::string& text) {
    constexpr std::size_t kShortest = 20;  // 2026-11-20T08:30:00Z
    if (text.size() < kShortest || !parse_date(text)) return false;
    const char offset_at = text[text.size() - 6];
    return text.back() == 'Z' || text.back() == 'z' || offset_at == '+' || offset_at == '-';
}

/// The form of a value in a header.
bool is_content_type(const std::string& text) {
    return !text.empty() && text.size() <= kContentTypeBytesMax && text.front() != ' ' &&
           text.back() != ' ' &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

core::Result<void> check_attribute(const std::string& name, const Json& value) {
    if (!is_attribute_name(name)) {
        return invalid(name,
                       "is no name of an attribute: lower-case letters and digits, at most 128");
    }
    if (value.is_object() || value.is_array()) {
        return invalid(name, "must be a string, a number or a boolean");
    }
    if (name == "time" && !(value.is_string() && is_rfc3339_time(value.get<std::string>()))) {
        return invalid(name, "must be a time as RFC 3339 writes it, such as 2026-11-20T08:30:00Z");
    }
    if (name == kContentType && !(value.is_string() && is_content_type(value.get<std::string>()))) {
        return invalid(name, "must be a media type of 1 to 256 printable ASCII characters");
    }
    if (name == kPartitionKeyAttribute) {
        if (const auto text = naming_text(name, value); !text) return core::fail(text.error());
    }
    return {};
}

core::Result<void> check_names(const std::vector<JsonMember>& members) {
    std::set<std::string_view> names;
    for (const auto& [name, value] : members) {
        if (!names.insert(name).second) return invalid(name, "stands twice");
    }
    return {};
}

bool is_padded_base64(const std::string& text) {
    return text.size() % 4 == 0 && text.find_first_of("-_") == std::string::npos &&
           core::parse_base64_any(text);
}

core::Result<void> check_data(const std::vector<JsonMember>& members) {
    bool has_data = false;
    for (const auto& [name, value] : members) {
        if (is_data(name) && std::exchange(has_data, true)) {
            return invalid("$ has data and data_base64");
        }
        if (name != kDataBase64) continue;
        const auto text = core::must_parse_json(value);
        const bool good = text.is_string() && is_padded_base64(text.get_ref<const std::string&>());
        if (!good) {
            return invalid(name, "must be a string of base64 with its padding (RFC 4648 §4)");
        }
    }
    return {};
}

core::Result<void> check_size(const std::string& json) {
    if (json.size() <= kEventBytesMax) return {};
    return core::fail(Fault::too_large,
                      "an event may have 262144 bytes as the log gets it, as JSON with "
                      "beckonowner, and with base64 in place of bytes; this one has " +
                          std::to_string(json.size()));
}

/// The event of posted members.
core::Result<Event> posted(std::vector<JsonMember> all) {
    if (all.size() > kAttributesMax + kDataMembers) {
        return invalid("$ has too many attributes: an event may have 128");
    }
    if (auto checked = check_names(all); !checked) return core::fail(checked.error());
    const auto members = set_members(std::move(all));
    const auto attributes = attributes_of(members);
    std::string json = "{";
    for (const auto& [name, value] : members) {
        // A wrong name is refused below, before the text is used.
        core::append_json_member(json, name, value);
    }
    json.push_back('}');
    auto event = event_of(attributes, std::move(json));
    if (!event) return event;
    for (const auto& [name, value] : attributes) {
        if (auto checked = check_attribute(name, value); !checked) {
            return core::fail(checked.error());
        }
    }
    if (auto checked = check_data(members); !checked) return core::fail(checked.error());
    if (auto checked = check_size(event->json); !checked) return core::fail(checked.error());
    if (is_too_deep(event->json)) return invalid(kTooDeep);
    return event;
}

/// A name and the text of a value.
using Part = std::pair<std::string, std::string>;

/// The form of a body in the event's text. Text in another charset than UTF-8 travels as the bytes
/// that it is, and so does a body that names no type and is not JSON.
core::Result<Part> data_part(std::string_view content_type, std::string_view body) {
    const auto type = core::parse_media_type(content_type);
    if (type.is_utf8() && (type.is_json() || type.type.empty())) {
        const auto value = core::json_value(body);
        if (value) return Part{kData, *value};
        if (type.is_json()) return invalid(kData, value.error().message);
    }
    if (type.is_utf8() && type.type.starts_with("text/") && core::is_utf8(body)) {
        return Part{kData, core::json_string(body)};
    }
    return Part{kDataBase64, core::json_string(core::base64(body))};
}

core::Result<std::vector<Part>> parts_of(const std::map<std::string, std::string>& attributes,
                                         std::string_view content_type, std::string_view body) {
    std::vector<Part> parts;
    for (const auto& [name, value] : attributes) {
        if (!core::is_utf8(name))
            return invalid("$ has the header ce-… with a name that is not UTF-8");
        if (is_data(name)) return invalid(name, "is no header");
        if (name == kContentType && !content_type.empty()) continue;
        if (!core::is_utf8(value)) return invalid(name, "must be UTF-8");
        parts.emplace_back(name, core::json_string(value));
    }
    if (!content_type.empty()) {
        if (!core::is_utf8(content_type)) return invalid(kContentType, "must be UTF-8");
        parts.emplace_back(kContentType, core::json_string(content_type));
    }
    if (body.empty()) return parts;
    auto data = data_part(content_type, body);
    if (!data) return core::fail(data.error());
    parts.push_back(std::move(*data));
    return parts;
}

core::Result<Event> of_value(std::string_view value) {
    auto members = core::json_members(value);
    if (!members) return invalid("$ " + members.error().message);
    return posted(std::move(*members));
}

core::Result<void> check_body_size(std::string_view body) {
    if (body.size() <= kEventBytesMax) return {};
    return core::fail(Fault::too_large, "an event may have 262144 bytes");
}

}  // namespace

bool is_too_deep(std::string_view json) { return core::is_nested_deeper(json, kDepthMax); }

core::Result<Event> parse_structured(std::string_view body) {
    if (auto checked = check_body_size(body); !checked) return core::fail(checked.error());
    if (is_too_deep(body)) return invalid(kTooDeep);
    const auto value = core::json_value(body);
    if (!value) return invalid("$ " + value.error().message);
    return of_value(*value);
}

core::Result<Event> parse_element(std::string_view value) {
    if (is_too_deep(value)) return invalid(kTooDeep);
    return of_value(value);
}

core::Result<Event> parse_binary(const std::map<std::string, std::string>& attributes,
                                 std::string_view content_type, std::string_view body) {
    if (auto checked = check_body_size(body); !checked) return core::fail(checked.error());
    const auto parts = parts_of(attributes, content_type, body);
    if (!parts) return core::fail(parts.error());
    std::vector<JsonMember> members;
    for (const auto& [name, value] : *parts) members.push_back({name, value});
    return posted(std::move(members));
}

core::Result<Event> for_owner(const Event& event, const std::string& owner) {
    if (event.owner == owner) return event;
    auto out = event;
    out.owner = owner;
    out.json = core::with_json_member(event.json, kOwnerAttribute, core::json_string(owner));
    if (auto checked = check_size(out.json); !checked) return core::fail(checked.error());
    return out;
}

std::string scope_of(const Event& event) {
    if (event.owner.empty()) return event.source;
    auto scope = event.owner;
    return scope.append(1, '\0').append(event.source);  // neither has control characters
}

core::Partition partition_of(const Event& event, core::Partition partitions) {
    if (event.partition_key.empty()) {
        return core::event_partition(event.source, event.id, partitions);
    }
    return core::event_partition(event.owner, event.partition_key, partitions);
}

core::Record encode(const Event& event) {
    return core::state_record(event.id, core::kEventRecordType, event.json);
}

bool is_event(const core::RecordView& record) {
    return record.header(core::header::kType) == core::kEventRecordType;
}

std::optional<Event> decode_event_name(const core::RecordView& record) {
    if (!is_event(record) || !record.value) return std::nullopt;
    auto texts = core::json_string_members(*record.value, {"source", "id", kOwnerAttribute});
    if (!texts[0] || !texts[1]) return std::nullopt;
    return Event{.source = std::move(*texts[0]),
                 .id = std::move(*texts[1]),
                 .type = {},
                 .json = {},
                 .owner = std::move(texts[2]).value_or("")};
}

core::Result<Event> decode_event(const core::RecordView& record) {
    const auto corrupt = [](std::string why) { return core::fail(Fault::corrupt, std::move(why)); };
    if (!is_event(record) || !record.value) return corrupt("no event");
    const auto value = core::json_value(*record.value);
    if (!value) return corrupt("$ " + value.error().message);
    auto members = core::json_members(*value);
    if (!members) return corrupt("$ " + members.error().message);
    std::erase_if(*members, [](const auto& one) { return !is_read(one.name); });
    auto event = event_of(attributes_of(set_members(std::move(*members))), std::string{*value});
    if (!event) return corrupt(event.error().message);
    return event;
}

}  // namespace beckon::retry
