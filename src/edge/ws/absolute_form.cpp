#include "edge/ws/absolute_form.hpp"

#include "core/ascii.hpp"
#include "net/http/request_parser.hpp"

#include <algorithm>
#include <optional>

namespace beckon::edge {

namespace {

using Kind = HeadVerdict::Kind;

constexpr std::size_t kMethodMax = 16;
constexpr std::size_t kSchemeMax = 16;
constexpr std::string_view kUpgrade = "upgrade";

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

/// By the beginning alone: a method, and a target that begins with a scheme (RFC 3986 §3.1). A line
/// that is none of HTTP, as that of a PROXY header, is the library's.
Kind by_first_bytes(std::string_view head) {
    head.remove_prefix(std::min(head.find_first_not_of("\r\n"), head.size()));
    const auto method = head.substr(0, head.find(' '));
    if (method.size() > kMethodMax || !std::all_of(method.begin(), method.end(), is_letter)) {
        return Kind::library;
    }
    head.remove_prefix(std::min(method.size() + 1, head.size()));
    const auto end = std::find_if(head.begin(), head.end(), [](char c) {
        return !is_letter(c) && !(c >= '0' && c <= '9') && c != '+' && c != '-' && c != '.';
    });
    if (static_cast<std::size_t>(end - head.begin()) > kSchemeMax) return Kind::library;
    if (end == head.end()) return Kind::incomplete;
    return *end == ':' && end != head.begin() && is_letter(head.front()) ? Kind::plain
                                                                         : Kind::library;
}

/// Behind the first empty line, however the lines before it end; nullopt: it has not come.
std::optional<std::size_t> end_of_head(std::string_view head) {
    const auto begin = std::min(head.find_first_not_of("\r\n"), head.size());
    for (auto end = head.find('\n', begin); end != std::string_view::npos;
         end = head.find('\n', end + 1)) {
        const auto next = head.substr(end + 1, 2);
        if (next.starts_with('\n')) return end + 2;
        if (next == "\r\n") return end + 3;
    }
    return std::nullopt;
}

bool is_upgrade(const net::HttpRequest& request) {
    return std::any_of(request.extra.begin(), request.extra.end(), [](const auto& header) {
        return core::equals_ignoring_case(header.name, kUpgrade);
    });
}

}  // namespace

HeadVerdict judge_head(std::string_view head) {
    if (const auto kind = by_first_bytes(head); kind != Kind::plain) return {kind};
    const auto end = end_of_head(head);
    if (!end) return {Kind::incomplete};
    using Status = net::RequestParser::Status;
    net::RequestParser parser{
        {.header_bytes_max = kHttpHeadMax, .body_bytes_max = 0, .extra_prefix = kUpgrade}};
    std::size_t used = 0;
    const auto status = parser.put(head, used);
    const HeadVerdict refused{Kind::refused, {}, head.size()};
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
