#include "retry/attachment/attachments.hpp"

#include "core/json_parts.hpp"
#include "core/json_text.hpp"
#include "retry/attachment/exact_numbers.hpp"
#include "retry/attachment/expression.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;

namespace {

constexpr const char* kErrorsMember = "_errors";

bool is_name(std::string_view name) {
    const auto is_plain = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= 0x20 && byte != 0x7f;
    };
    return !name.empty() && name.size() <= kAttachmentNameBytesMax && name.front() != '_' &&
           std::all_of(name.begin(), name.end(), is_plain);
}

/// The state that all attachments of one event share.
struct Capacity {
    Work work;
    std::size_t bytes_left = kAttachmentsBytesMax;
};

/// The event as expressions read it.
struct Document {
    ExactNumbers numbers;
    Json json;
};

/// The text that an expression selects.
core::Result<std::string> attachment(const Document& event, const std::string& text,
                                     Capacity& capacity) {
    const auto expression = Expression::compile(text);
    if (!expression) return core::fail(expression.error());
    const auto selected = expression->select(event.json, capacity.work);
    if (!selected) return core::fail(selected.error());
    auto value = event.numbers.shown(core::json_text(*selected));
    if (value.size() > capacity.bytes_left) {
        return core::fail(Fault::too_large, "the attachments of an event may have 131072 bytes");
    }
    capacity.bytes_left -= value.size();
    return value;
}

/// The event's text with the attachments, in place of a member of that name.
std::string with_member(std::string_view event, std::string_view attachments) {
    const auto members = core::json_members(event);
    std::string out = "{";
    for (const auto& [name, value] : *members) {
        if (name != kAttachmentsMember) core::append_json_member(out, name, value);
    }
    core::append_json_member(out, kAttachmentsMember, attachments);
    return out.append(1, '}');
}

}  // namespace

core::Result<void> check_attachment(std::string_view name, std::string_view expression) {
    if (!is_name(name)) {
        return core::fail(Fault::invalid,
                          "a name must have 1 to 64 bytes without control characters, and must not "
                          "begin with _");
    }
    if (auto compiled = Expression::compile(expression); !compiled) {
        return core::fail(compiled.error());
    }
    return {};
}

std::string with_attachments(const std::string& event,
                             const std::map<std::string, std::string>& wanted) {
    if (wanted.empty()) return event;
    const auto text = core::json_value(event);
    if (!text) return event;
    Document document;
    document.json = core::must_parse_json(document.numbers.hidden(*text));
    if (!document.json.is_object()) return event;
    Capacity capacity;
    std::string all = "{";
    std::string errors = "{";
    for (const auto& [name, expression] : wanted) {
        const auto one = attachment(document, expression, capacity);
        core::append_json_member(one ? all : errors, name,
                                 one ? *one : core::json_string(one.error().message));
    }
    if (errors != "{") core::append_json_member(all, kErrorsMember, errors.append(1, '}'));
    return with_member(*text, all.append(1, '}'));
}

}  // namespace beckon::retry
