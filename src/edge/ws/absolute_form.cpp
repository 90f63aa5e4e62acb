#include "edge/ws/absolute_form.hpp"

#include "core/ascii.hpp"
#include "net/http/request_parser.hpp"

#include <algorithm>
#include <optional>

namespace beckon::edge {

namespace {

using Kind = HeadVerdict::Kind;

constexpr std::size_t kMethodMax = 16;
constexpr std::string_view kUpgrade = "upgrade";

/// By the first byte of the target alone, which is a letter only in absolute form and in that of
/// CONNECT.
Kind by_first_bytes(std::string_view head) {
    head.remove_prefix(std::min(head.find_first_not_of("\r\n"), head.size()));
    const auto end = head.find(' ');
    if (end == std::string_view::npos) {
        return head.size() > kMethodMax ? Kind::library : Kind::incomplete;
    }
    if (end > kMethodMax) return Kind::library;
    if (end + 1 == head.size()) return Kind::incomplete;
    const char first = static_cast<char>(head[end + 1] | 0x20);
    return first >= 'a' && first <= 'z' ? Kind::plain : Kind::library;
}

/// Behind the empty line; nullopt: it has not come.
std::optional<std::size_t> end_of_head(std::string_view head) {
    constexpr std::string_view kEnd = "\r\n\r\n";
    const auto begin = std::min(head.find_first_not_of("\r\n"), head.size());
    const auto at = head.find(kEnd, begin);
    return at == std::string_view::npos ? std::nullopt : std::optional{at + kEnd.size()};
}

bool is_upgrade(const net::HttpRequest& request) {
    return std::any_of(request.extra.begin(), request.extra.end(), [](const auto& header) {
        return core::equals_ignoring_case(header.name, kUpgrade);
    });
}

}  // namespace

HeadVerdict judge_head(std::string_view head) {
    if (const auto kind = by_first_bytes(head); kind != Kind::plain) return {kind};
    using Status = net::RequestParser::Status;
    net::RequestParser parser{
        {.header_bytes_max = kHttpHeadMax, .body_bytes_max = 0, .extra_prefix = kUpgrade}};
    std::size_t used = 0;
    const auto status = parser.put(head, used);
    const HeadVerdict refused{Kind::refused, {}, head.size()};
    const auto end = end_of_head(head);
    if (status == Status::need_more) return end ? refused : HeadVerdict{Kind::incomplete};
    if (status != Status::complete && status != Status::body_too_large) return refused;
    const auto& request = parser.request();
    if (is_upgrade(request)) return {Kind::library};
    // Nothing that this port serves has a body, not even one of no chunks.
    if (status == Status::body_too_large || used != end) return refused;
    if (request.method == net::Method::other || !request.target.starts_with('/')) {
        return {Kind::library};
    }
    return {Kind::plain, std::string{request.target.substr(0, request.target.find('?'))}, used};
}

}  // namespace beckon::edge
