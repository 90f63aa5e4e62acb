// A POST of an event. The first line is the Content-Type; lines `name: value` follow, as the
// headers `ce-…`; after an empty line comes the body. In both modes the event is refused with a
// reason, or its record can be read again with the same content, and a request can be made of it.
#include "fuzz/require.hpp"
#include "retry/event/attachment/attachments.hpp"
#include "retry/event/event.hpp"
#include "support/record_view.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::retry;
using beckon::test::ReadBack;
using beckon::test::require;
using Json = nlohmann::json;

namespace {

std::string_view take_line(std::string_view& text) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

struct Post {
    std::string content_type;
    std::map<std::string, std::string> attributes;
    std::string_view body;
};

Post post_of(std::string_view text) {
    Post post{.content_type = std::string{take_line(text)}, .attributes = {}, .body = {}};
    while (!text.empty()) {
        const auto line = take_line(text);
        if (line.empty()) break;
        const auto colon = line.find(':');
        if (colon == std::string_view::npos) continue;
        auto value = line.substr(colon + 1);
        if (value.starts_with(' ')) value.remove_prefix(1);
        post.attributes[std::string{line.substr(0, colon)}] = value;
    }
    post.body = text;
    return post;
}

void check_readable(const Event& event) {
    const auto record = encode(event);
    const auto again = decode_event(*ReadBack{record});
    // With Beckon's additions the record may be too large; then it is refused before it is written.
    if (!again) return require(!again.error().message.empty());
    require(again->id == event.id && again->source == event.source && again->type == event.type);
    require(again->owner == event.owner && scope_of(*again) == scope_of(event));
    const auto payload =
        Json::parse(with_attachments(again->json, {{"one", "data"}, {"two", "*"}}), nullptr, false);
    require(payload.is_object());
}

void check(const core::Result<Event>& event) {
    if (!event) return require(!event.error().message.empty());
    check_readable(*event);
    const auto owned = for_owner(*event, "shop");
    if (!owned) return require(!owned.error().message.empty());
    check_readable(*owned);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    check(parse_structured(text));
    const auto post = post_of(text);
    check(parse_structured(post.body));
    check(parse_binary(post.attributes, post.content_type, post.body));
    return 0;
}
