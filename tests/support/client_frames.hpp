#pragma once

#include <string>
#include <string_view>

/// Frames of a client, as text.
namespace beckon::test {

inline constexpr std::string_view kSomeChannel = "11112222-3333-4444-5555-666677778888";

/// `members`: those behind `messageType`.
inline std::string frame(std::string_view type, std::string_view members = {}) {
    return R"({"messageType":")" + std::string{type} + '"' + (members.empty() ? "" : ",") +
           std::string{members} + "}";
}

/// About kSomeChannel; `more`: members with a comma before each.
inline std::string with_channel(std::string_view type, std::string_view more = {}) {
    return frame(type, R"("channelID":")" + std::string{kSomeChannel} + '"' + std::string{more});
}

}  // namespace beckon::test
