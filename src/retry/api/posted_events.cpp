#include "retry/api/posted_events.hpp"

#include "core/json_parts.hpp"
#include "core/media_type.hpp"
#include "core/percent.hpp"
#include "net/http/http_message.hpp"
#include "retry/api/route.hpp"

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

namespace beckon::retry {

using core::Fault;

namespace {

constexpr std::size_t kNameShown = 64;  ///< bytes of names from requests

/// The form of events in the body of a POST.
enum class PostMode : std::uint8_t { structured, batch, binary, unknown };

PostMode post_mode(const ApiRequest& request, const core::MediaType& type) {
    if (type.type == "application/cloudevents+json") return PostMode::structured;
    if (type.type == "application/cloudevents-batch+json") return PostMode::batch;
    return request.ce.empty() ? PostMode::unknown : PostMode::binary;
}

/// The value of a header `ce-…`: quotes are taken off, then it is percent-decoded once (CloudEvents
/// HTTP binding, section 3.1.3.2).
std::string attribute_of(std::string_view header) {
    if (header.size() < 2 || header.front() != '"' || header.back() != '"') {
        return core::percent_decoded(header);
    }
    const auto quoted = header.substr(1, header.size() - 2);
    std::string text;
    for (std::size_t i = 0; i < quoted.size(); ++i) {
        if (quoted[i] == '\\' && i + 1 < quoted.size()) ++i;
        text.push_back(quoted[i]);
    }
    return core::percent_decoded(text);
}

core::Result<Event> parse_binary_event(const ApiRequest& request) {
    std::map<std::string, std::string> attributes;
    for (const auto& [name, value] : request.ce) {
        if (attributes.emplace(name, attribute_of(value)).second) continue;
        return core::fail(Fault::invalid, "$." + name.substr(0, kNameShown) + " stands twice");
    }
    return parse_binary(attributes, request.content_type, request.body);
}

/// The texts of the events of a batch.
core::Result<std::vector<std::string_view>> parse_batch(std::string_view body) {
    const auto value = core::json_value(body);
    if (!value) return core::fail(Fault::invalid, "$ " + value.error().message);
    auto elements = core::json_elements(*value);
    if (!elements) return core::fail(Fault::invalid, "$ " + elements.error().message);
    if (elements->size() > kBatchEventsMax) {
        return core::fail(Fault::invalid,
                          "$ may have " + std::to_string(kBatchEventsMax) + " events in one batch");
    }
    return elements;
}

PostedEvents refused(Problem problem, std::string detail) {
    return {.refusal = Refusal{problem, std::move(detail)}};
}

PostedEvents posted_batch(std::string_view body) {
    const auto elements = parse_batch(body);
    if (!elements) return refused(Problem::invalid, elements.error().message);
    PostedEvents posted{.is_batch = true};
    posted.events.reserve(elements->size());
    for (const auto& one : *elements) posted.events.push_back(parse_element(one));
    return posted;
}

}  // namespace

PostedEvents parse_posted(const ApiRequest& request) {
    const auto type = core::parse_media_type(request.content_type);
    const auto mode = post_mode(request, type);
    if (mode == PostMode::unknown) {
        return refused(Problem::unsupported_type,
                       "an event is sent as application/cloudevents+json, several as "
                       "application/cloudevents-batch+json, or one as data of any type "
                       "with the headers ce-specversion, ce-id, ce-source and ce-type");
    }
    if (mode != PostMode::binary && !type.is_utf8()) {
        return refused(Problem::unsupported_type, "the charset of " + type.type + " must be utf-8");
    }
    if (mode == PostMode::batch) return posted_batch(request.body);
    PostedEvents posted;
    posted.events.push_back(mode == PostMode::structured ? parse_structured(request.body)
                                                         : parse_binary_event(request));
    return posted;
}

}  // namespace beckon::retry
