#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// An event in the binary mode of CloudEvents' HTTP binding (section 3.1).
struct BinaryMessage {
    std::string content_type;          ///< empty: there is none
    std::vector<std::string> headers;  ///< "ce-id: 42"; printable ASCII
    std::string body;                  ///< the data, as they were posted
    bool operator==(const BinaryMessage&) const = default;
};

/// The limit of all headers together: receivers refuse requests with more.
inline constexpr std::size_t kBinaryHeaderBytesMax = 8'192;

/// The message of an event's JSON. nullopt where headers cannot express it, or receivers would not
/// read it: its attributes are too long, or it was posted as JSON with another charset than UTF-8.
/// Pure; any thread.
std::optional<BinaryMessage> binary_message(std::string_view event);

}  // namespace beckon::retry
