#include "retry/attachment/attachments.hpp"

#include "retry/attachment/expression.hpp"

#include <algorithm>
#include <utility>

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

/// What all attachments of one event share.
struct Room {
    Work work;
    std::size_t bytes_left = kAttachmentsBytesMax;
};

core::Result<Json> attachment(const Json& event, const std::string& text, Room& room) {
    const auto expression = Expression::compile(text);
    if (!expression) return core::fail(expression.error());
    auto selected = expression->select(event, room.work);
    if (!selected) return selected;
    const auto bytes = selected->dump(-1, ' ', false, Json::error_handler_t::replace).size();
    if (bytes > room.bytes_left) {
        return core::fail(Fault::too_large, "the attachments of an event may have 131072 bytes");
    }
    room.bytes_left -= bytes;
    return selected;
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
    auto payload = Json::parse(event, nullptr, false);
    if (!payload.is_object()) return event;
    Room room;
    Json all = Json::object();
    Json errors = Json::object();
    for (const auto& [name, text] : wanted) {
        auto one = attachment(payload, text, room);
        if (one) {
            all[name] = std::move(*one);
        } else {
            errors[name] = one.error().message;
        }
    }
    if (!errors.empty()) all[kErrorsMember] = std::move(errors);
    payload[kAttachmentsMember] = std::move(all);
    return payload.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace beckon::retry
