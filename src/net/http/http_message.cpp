#include "net/http/http_message.hpp"

#include "core/ascii.hpp"
#include "core/list_text.hpp"
#include "core/percent.hpp"
#include "core/time_text.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace beckon::net {

namespace {

constexpr std::string_view kAllow = "Allow";

/// In the order of HeaderName.
constexpr std::array<std::string_view, kHeaderNames> kNames{
    "authorization",
    "crypto-key",
    "ttl",
    "topic",
    "urgency",
    "content-encoding",
    "content-type",
    "encryption",
    "x-messageid",
    "traceparent",
    "origin",
    "access-control-request-method",
    "access-control-request-headers",
    "forwarded",
    "x-forwarded-for",
    "accept",
    "cookie",
    "if-none-match",
    "sec-fetch-site",
    "sec-fetch-dest",
    "x-forwarded-proto",
};

bool is_readable(std::string_view value) {
    return std::all_of(value.begin(), value.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return c == '\t' || (byte >= 0x20 && byte < 0x7f);
    });
}

/// The methods of an Allow: wherever GET is, HEAD is.
std::string with_head(std::string methods) {
    constexpr std::string_view kGet = "GET";
    const auto get = methods.find(kGet);
    return get == std::string::npos ? methods : methods.insert(get + kGet.size(), ", HEAD");
}

}  // namespace

std::string_view to_string(Method method) {
    switch (method) {
        case Method::get: return "GET";
        case Method::post: return "POST";
        case Method::put: return "PUT";
        case Method::patch: return "PATCH";
        case Method::del: return "DELETE";
        case Method::options: return "OPTIONS";
        case Method::other: return "other";
    }
    return "other";
}

Method parse_method(std::string_view text) {
    for (const auto method :
         {Method::get, Method::post, Method::put, Method::patch, Method::del, Method::options}) {
        if (text == to_string(method)) return method;
    }
    return Method::other;
}

std::optional<HeaderName> parse_header_name(std::string_view name) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (core::equals_ignoring_case(name, kNames[i])) return static_cast<HeaderName>(i);
    }
    return std::nullopt;
}

void RequestHeaders::add(HeaderName name, std::string_view value) {
    auto& slot = slots_[static_cast<std::size_t>(name)];
    const bool last_counts = name == HeaderName::forwarded || name == HeaderName::x_forwarded_for;
    if (slot.state != State::absent && !last_counts) return;
    slot = {value, is_readable(value) ? State::present : State::unreadable};
}

std::optional<std::string_view> HttpReply::header(std::string_view name) const {
    for (const auto& h : headers) {
        if (h.name == name) return h.value;
    }
    return std::nullopt;
}

HttpReply reply_of(int status, std::string type, std::string body) {
    HttpReply reply{.status = status, .headers = {}, .body = std::move(body)};
    reply.add("Content-Type", std::move(type));
    return reply;
}

HttpReply json_reply(int status, std::string text) {
    return reply_of(status, "application/json", std::move(text));
}

std::string_view reason_phrase(int status) {
    switch (status) {
        case 200: return "OK";
        case 201: return "Created";
        case 202: return "Accepted";
        case 204: return "No Content";
        case 304: return "Not Modified";
        case 400: return "Bad Request";
        case 401: return "Unauthorized";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 408: return "Request Timeout";
        case 409: return "Conflict";
        case 410: return "Gone";
        case 413: return "Payload Too Large";
        case 415: return "Unsupported Media Type";
        case 418: return "I'm a teapot";
        case 421: return "Misdirected Request";
        case 429: return "Too Many Requests";
        case 426: return "Upgrade Required";
        case 431: return "Request Header Fields Too Large";
        case 500: return "Internal Server Error";
        case 502: return "Bad Gateway";
        case 503: return "Service Unavailable";
    }
    return "Unknown";
}

void append_reply(std::string& out, const HttpReply& reply, const ReplyForm& form) {
    out += "HTTP/1.1 ";
    out += std::to_string(reply.status);
    out += ' ';
    out += reason_phrase(reply.status);
    out += "\r\n";
    for (const auto& h : reply.headers) {
        out += h.name;
        out += ": ";
        out += h.name == kAllow ? with_head(h.value) : h.value;
        out += "\r\n";
    }
    out.append("Date: ").append(core::http_date_now()).append("\r\n");  // RFC 9110 §6.6.1
    if (form.close) out += "Connection: close\r\n";
    if (reply.stream) {
        if (form.chunked) out += "Transfer-Encoding: chunked\r\n";
    } else if (reply.status != 204 && reply.status != 304) {
        // RFC 9110 §8.6: none with 204, and with 304 only that of the 200
        out += "Content-Length: ";
        out += std::to_string(reply.body.size());
        out += "\r\n";
    }
    out += "\r\n";
    if (!form.head) out += reply.body;
}

Target split_target(std::string_view target) {
    const auto path = target.substr(0, target.find('?'));
    return {path, target.substr(std::min(path.size() + 1, target.size()))};
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query) {
    std::vector<std::pair<std::string, std::string>> pairs;
    while (!query.empty()) {
        const auto pair = core::take_part(query, '&');
        const auto name = pair.substr(0, pair.find('='));
        const auto value = pair.substr(std::min(name.size() + 1, pair.size()));
        if (!name.empty())
            pairs.emplace_back(core::percent_decoded(name), core::percent_decoded(value));
    }
    return pairs;
}

std::map<std::string, std::string, std::less<>> query_by_name(std::string_view query) {
    std::map<std::string, std::string, std::less<>> by_name;
    for (auto& [name, value] : parse_query(query)) {
        by_name.emplace(std::move(name), std::move(value));
    }
    return by_name;
}

HttpReply api_document_reply(std::string_view document) {
    auto reply = reply_of(200, "application/yaml", std::string{document});  // RFC 9512
    reply.add("Cache-Control", "no-cache");
    return reply;
}

}  // namespace beckon::net
