#include "retry/webhook/binary_message.hpp"

#include "core/ascii.hpp"
#include "core/base64url.hpp"
#include "core/json_parts.hpp"
#include "core/json_text.hpp"
#include "core/media_type.hpp"
#include "core/percent.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

namespace {

constexpr std::string_view kDefaultType = "application/json";

bool is_printable(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

/// What stays of a header's value beside letters and digits (section 3.1.3.2): all of printable
/// ASCII but blanks, quotes and per cent signs.
constexpr std::string_view kOfHeader = "!#$&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// A string without its quotes, or any other value's text.
std::string plain_text(std::string_view value) {
    if (!value.starts_with('"')) return std::string{value};
    return core::must_parse_json(value).get<std::string>();
}

/// The body of `data`, for the type that the event names.
std::optional<std::string> body_of_data(std::string_view value, const core::MediaType& type) {
    if (!type.is_utf8()) return std::nullopt;
    const bool as_json = type.is_json() || !value.starts_with('"');
    return as_json ? std::string{value} : plain_text(value);
}

/// The parts of an event while they are collected.
struct Parts {
    BinaryMessage message;
    std::optional<std::string_view> data;
    std::optional<std::string_view> base64;
    std::size_t header_bytes = 0;

    /// False: a header cannot express it.
    bool take(const core::JsonMember& member) {
        const auto& [name, value] = member;
        if (name == "data") return data.emplace(value), true;
        if (value == "null") return true;
        if (name == "data_base64") return base64.emplace(value), true;
        if (value.starts_with('{') || value.starts_with('[')) return false;
        if (name == "datacontenttype") {
            message.content_type = plain_text(value);
            header_bytes += message.content_type.size();
            return is_printable(message.content_type);
        }
        auto header = "ce-" + name + ": " + core::percent_encoded(plain_text(value), kOfHeader);
        header_bytes += header.size();
        message.headers.push_back(std::move(header));
        return core::is_lower_alphanumeric(name);
    }
};

/// False: a body cannot express the data.
bool take_body(Parts& parts) {
    auto& message = parts.message;
    std::optional<std::string> body{""};
    if (parts.base64) {
        if (!parts.base64->starts_with('"')) return false;
        body = core::parse_base64_any(plain_text(*parts.base64));
    } else if (parts.data) {
        if (message.content_type.empty()) message.content_type = kDefaultType;
        body = body_of_data(*parts.data, core::parse_media_type(message.content_type));
    }
    if (body) message.body = std::move(*body);
    return body.has_value();
}

}  // namespace

std::optional<BinaryMessage> binary_message(std::string_view event) {
    const auto value = core::json_value(event);
    if (!value) return std::nullopt;
    const auto members = core::json_members(*value);
    if (!members) return std::nullopt;
    Parts parts;
    for (const auto& member : *members) {
        if (!parts.take(member)) return std::nullopt;
    }
    if (parts.header_bytes > kBinaryHeaderBytesMax || !take_body(parts)) return std::nullopt;
    return std::move(parts.message);
}

}  // namespace beckon::retry
