#include "retry/event/event.hpp"

#include "core/base64url.hpp"
#include "core/codec.hpp"
#include "retry/filter/date.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;

namespace {

constexpr std::string_view kType = "beckon.event.v1";
constexpr std::size_t kAttributeBytesMax = 1'024;
constexpr std::size_t kDepthMax = 64;

tl::unexpected<core::Error> invalid(std::string why) {
    return core::fail(Fault::invalid, std::move(why));
}

bool is_attribute_name(std::string_view name) {
    return !name.empty() && name.size() <= 20 && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    });
}

/// A required attribute; what is wrong with it otherwise.
core::Result<std::string> required(const Json& event, const char* name) {
    const auto found = event.find(name);
    if (found == event.end()) return invalid(std::string{"$."} + name + " is missing");
    if (!found->is_string()) return invalid(std::string{"$."} + name + " must be a string");
    auto text = found->get<std::string>();
    if (text.empty() || text.size() > kAttributeBytesMax) {
        return invalid(std::string{"$."} + name + " must have 1 to 1024 bytes");
    }
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
    if (std::any_of(text.begin(), text.end(), is_control)) {
        return invalid(std::string{"$."} + name + " must have no control characters");
    }
    return text;
}

core::Result<void> check_attributes(const Json& event) {
    for (const auto& [name, value] : event.items()) {
        if (name == "data" || name == "data_base64") continue;
        if (!is_attribute_name(name)) {
            return invalid("$." + name +
                           " is no name of an attribute: lower-case letters and "
                           "digits, at most 20");
        }
        if (value.is_object() || value.is_array()) {
            return invalid("$." + name + " must be a string, a number or a boolean");
        }
    }
    if (event.contains("data") && event.contains("data_base64")) {
        return invalid("$ has data and data_base64");
    }
    const auto time = event.find("time");
    if (time != event.end() && (!time->is_string() || !parse_date(time->get<std::string>()))) {
        return invalid("$.time must be a time as RFC 3339 writes it");
    }
    return {};
}

core::Result<Event> check(const Json& event) {
    if (!event.is_object()) return invalid("$ must be an object");
    if (event.value("specversion", Json{}) != "1.0")
        return invalid("$.specversion must be \"1.0\"");
    auto id = required(event, "id");
    if (!id) return core::fail(id.error());
    auto source = required(event, "source");
    if (!source) return core::fail(source.error());
    auto type = required(event, "type");
    if (!type) return core::fail(type.error());
    if (auto checked = check_attributes(event); !checked) return core::fail(checked.error());
    Event checked{.source = std::move(*source),
                  .id = std::move(*id),
                  .type = std::move(*type),
                  .json = event.dump(-1, ' ', false, Json::error_handler_t::replace)};
    if (event.contains(kOwnerAttribute)) {
        auto owner = required(event, kOwnerAttribute);
        if (!owner) return core::fail(owner.error());
        checked.owner = std::move(*owner);
    }
    if (checked.json.size() > kEventBytesMax) {
        return core::fail(Fault::too_large, "an event may have 262144 bytes");
    }
    return checked;
}

bool is_json_type(std::string_view content_type) {
    const auto end = content_type.find(';');
    auto type = std::string{content_type.substr(0, end)};
    while (!type.empty() && type.back() == ' ') type.pop_back();
    return type.empty() || type == "application/json" || type.ends_with("+json");
}

}  // namespace

bool is_too_deep(std::string_view text) {
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                in_string = false;
            continue;
        }
        if (c == '"') in_string = true;
        if ((c == '{' || c == '[') && ++depth > kDepthMax) return true;
        if ((c == '}' || c == ']') && depth > 0) --depth;
    }
    return false;
}

core::Result<Event> parse_structured(std::string_view body) {
    if (body.size() > kEventBytesMax) {
        return core::fail(Fault::too_large, "an event may have 262144 bytes");
    }
    if (is_too_deep(body)) return invalid("$ is nested too deeply");
    const auto event = Json::parse(body, nullptr, false);
    if (event.is_discarded()) return invalid("$ is no JSON");
    return check(event);
}

core::Result<Event> parse_binary(const std::map<std::string, std::string>& attributes,
                                 std::string_view content_type, std::string_view body) {
    if (body.size() > kEventBytesMax) {
        return core::fail(Fault::too_large, "an event may have 262144 bytes");
    }
    Json event = Json::object();
    for (const auto& [name, value] : attributes) {
        if (name == "data" || name == "data_base64") return invalid("$." + name + " is no header");
        event[name] = value;
    }
    if (!content_type.empty()) event["datacontenttype"] = content_type;
    if (body.empty()) return check(event);
    if (is_json_type(content_type)) {
        if (is_too_deep(body)) return invalid("$.data is nested too deeply");
        auto data = Json::parse(body, nullptr, false);
        if (data.is_discarded()) return invalid("$.data is no JSON");
        event["data"] = std::move(data);
    } else if (content_type.starts_with("text/")) {
        event["data"] = body;
    } else {
        auto text = core::base64url(body);  // CloudEvents has the other alphabet, with padding
        std::replace(text.begin(), text.end(), '-', '+');
        std::replace(text.begin(), text.end(), '_', '/');
        text.append((4 - text.size() % 4) % 4, '=');
        event["data_base64"] = std::move(text);
    }
    return check(event);
}

Event for_owner(const Event& event, const std::string& owner) {
    auto json = Json::parse(event.json);
    json[kOwnerAttribute] = owner;
    auto out = event;
    out.owner = owner;
    out.json = json.dump();
    return out;
}

std::string scope_of(const Event& event) {
    if (event.owner.empty()) return event.source;
    auto scope = event.owner;
    return scope.append(1, '\0').append(event.source);  // neither has control characters
}

core::Partition partition_of(const Event& event, core::Partition partitions) {
    std::string key = event.source;
    key.append(1, '\0').append(event.id);
    return core::partition_of(key, partitions);
}

core::Record encode(const Event& event) {
    core::Record record{.key = event.id, .value = event.json, .headers = {}};
    record.headers.push_back({core::header::kSpecVersion, "1.0"});
    record.headers.push_back({core::header::kType, std::string{kType}});
    record.headers.push_back({core::header::kContentType, "application/json"});
    return record;
}

core::Result<Event> decode_event(const core::RecordView& record) {
    if (record.header(core::header::kType) != kType || !record.value) {
        return core::fail(Fault::corrupt, "no event");
    }
    auto event = parse_structured(*record.value);
    if (!event) return core::fail(Fault::corrupt, event.error().message);
    return event;
}

}  // namespace beckon::retry
