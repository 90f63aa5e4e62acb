#include "retry/event/attachment/attachments.hpp"

#include "core/json_parts.hpp"
#include "retry/event/attachment/expression.hpp"
#include "retry/event/filter/json_tree.hpp"

#include <algorithm>
#include <exception>
#include <optional>

namespace beckon::retry {

using core::Fault;

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

/// The event as expressions read it; nullopt: it is none.
std::optional<JsonTree> document_of(const std::string& event) {
    try {
        return JsonTree{event};
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

/// The text that an expression selects.
core::Result<std::string> attachment(const JsonTree& event, const std::string& text,
                                     Capacity& capacity) {
    const auto expression = Expression::compile(text);
    if (!expression) return core::fail(expression.error());
    auto selected = expression->select(event, capacity.work);
    if (!selected) return selected;
    const auto& value = *selected;
    if (value.size() > capacity.bytes_left) {
        return core::fail(Fault::too_large, "the attachments of an event may have 131072 bytes");
    }
    capacity.bytes_left -= value.size();
    return selected;
}

/// The event's text with the attachments, in place of a member of that name.
std::string with_member(const JsonTree& event, std::string_view attachments) {
    std::string out = "{";
    event.root().any_member([&](std::string_view name, const JsonTree::Value& value) {
        if (name != kAttachmentsMember) core::append_json_member(out, name, value.json());
        return false;
    });
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
    const auto document = document_of(event);
    if (!document || !document->root().is_object()) return event;
    Capacity capacity;
    std::string all = "{";
    std::string errors = "{";
    for (const auto& [name, expression] : wanted) {
        const auto one = attachment(*document, expression, capacity);
        core::append_json_member(one ? all : errors, name,
                                 one ? *one : core::json_string(one.error().message));
    }
    if (errors != "{") core::append_json_member(all, kErrorsMember, errors.append(1, '}'));
    return with_member(*document, all.append(1, '}'));
}

}  // namespace beckon::retry
