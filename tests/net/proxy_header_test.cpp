#include "net/proxy_header.hpp"

#include "net/descriptor.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/socket.h>

using namespace beckon::net;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

constexpr auto kV2 = "\r\n\r\n\0\r\nQUIT\n"sv;

/// Of version 2: command 0 is LOCAL, 1 PROXY; family 1 is IPv4, 2 IPv6, each over TCP.
std::string v2(int command, int family, std::string_view behind) {
    std::string out{kV2};
    out.push_back(static_cast<char>(0x20 | command));
    out.push_back(static_cast<char>(family << 4 | (family == 0 ? 0 : 1)));
    out.push_back(static_cast<char>(behind.size() >> 8));
    out.push_back(static_cast<char>(behind.size() & 0xff));
    return out.append(behind);
}

/// "client 192.0.2.1, 42 bytes", "no client, 16 bytes", "more", or the fault.
std::string read(std::string_view bytes) {
    const auto parsed = parse_proxy_header(bytes);
    if (!parsed) return std::string{to_string(parsed.error())};
    if (!*parsed) return "more";
    const auto& [size, client] = **parsed;
    return (client ? "client " + to_string(*client) : "no client") + ", " + std::to_string(size) +
           " bytes";
}

const std::string kIpv4Block = "\xc0\x00\x02\x01\x0a\x00\x00\x01\x1f\x90\x01\xbb"s;

std::string ipv6_block() {
    return "\x20\x01\x0d\xb8"s + std::string(11, '\0') + "\x07" + std::string(16, '\x01') + "abcd";
}

}  // namespace

TEST_CASE("a PROXY header names the client, or nobody") {
    const auto [bytes, expected] = GENERATE(table<std::string, std::string>({
        {"PROXY TCP4 192.0.2.1 10.0.0.1 5000 443\r\n", "client 192.0.2.1, 40 bytes"},
        {"PROXY TCP4 192.0.2.1 10.0.0.1 5000 443\r\nGET /", "client 192.0.2.1, 40 bytes"},
        {"PROXY TCP6 2001:db8::7 ::1 1 65535\r\n", "client 2001:db8::7, 36 bytes"},
        {"PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n", "client 192.0.2.1, 37 bytes"},
        {"PROXY UNKNOWN\r\n", "no client, 15 bytes"},
        {"PROXY UNKNOWN what ever stands here\r\n", "no client, 37 bytes"},
        {v2(1, 1, kIpv4Block), "client 192.0.2.1, 28 bytes"},
        {v2(1, 1, kIpv4Block + "extensions"), "client 192.0.2.1, 38 bytes"},
        {v2(1, 2, ipv6_block()), "client 2001:db8::7, 52 bytes"},
        {v2(1, 3, std::string(216, 'u')), "no client, 232 bytes"},
        {v2(0, 0, ""), "no client, 16 bytes"},
        {v2(0, 1, kIpv4Block), "no client, 28 bytes"},
        {v2(1, 0, "x"), "no client, 17 bytes"},
    }));
    CAPTURE(bytes);
    CHECK(read(bytes) == expected);
}

TEST_CASE("bytes that are no PROXY header are refused, with the reason") {
    const auto [bytes, expected] = GENERATE(table<std::string, std::string>({
        {"GET / HTTP/1.1\r\n", "proxy_header_missing"},
        {"\x16\x03\x01", "proxy_header_missing"},
        {"PROXX", "proxy_header_missing"},
        {"\r\n\r\nx", "proxy_header_missing"},
        {"PROXY TCP4 192.0.2.1 10.0.0.1 5000 443\n", "proxy_header_malformed"},
        {"PROXY TCP5 192.0.2.1 10.0.0.1 5000 443\r\n", "proxy_header_malformed"},
        {"PROXY TCP4 192.0.2.256 10.0.0.1 5000 443\r\n", "proxy_header_malformed"},
        {"PROXY TCP4 ::1 10.0.0.1 5000 443\r\n", "proxy_header_malformed"},
        {"PROXY TCP6 192.0.2.1 ::1 5000 443\r\n", "proxy_header_malformed"},
        {"PROXY TCP6 192.0.2.1:80 ::1 5000 443\r\n", "proxy_header_malformed"},
        {"PROXY TCP4 192.0.2.1 10.0.0.1 5000 65536\r\n", "proxy_header_malformed"},
        {"PROXY TCP4 192.0.2.1 10.0.0.1 05000 443\r\n", "proxy_header_malformed"},
        {"PROXY TCP4 192.0.2.1 10.0.0.1 5000\r\n", "proxy_header_malformed"},
        {"PROXY TCP4 192.0.2.1 10.0.0.1 5000 443 \r\n", "proxy_header_malformed"},
        {"PROXY TCP4  192.0.2.1 10.0.0.1 5000 443\r\n", "proxy_header_malformed"},
        {"PROXY TCP4 192.0.2.1\0x 10.0.0.1 5000 443\r\n"s, "proxy_header_malformed"},
        {"PROXY UNKNOWN " + std::string(100, 'x'), "proxy_header_malformed"},
        {v2(2, 1, kIpv4Block), "proxy_header_malformed"},
        {v2(1, 4, kIpv4Block), "proxy_header_malformed"},
        {v2(1, 1, kIpv4Block.substr(1)), "proxy_header_malformed"},
        {v2(1, 2, kIpv4Block), "proxy_header_malformed"},
        {std::string{kV2} + "\x11\x11\x00\x0c"s, "proxy_header_malformed"},
        {std::string{kV2} + "\x21\x11\xff\xff"s, "proxy_header_too_long"},
    }));
    CAPTURE(bytes);
    CHECK(read(bytes) == expected);
}

TEST_CASE("every beginning of a good header waits for more") {
    const auto whole =
        GENERATE(as<std::string>(), "PROXY TCP4 192.0.2.1 10.0.0.1 5000 443\r\n",
                 "PROXY UNKNOWN\r\n", v2(1, 1, kIpv4Block + "more"), v2(1, 2, ipv6_block()));
    for (std::size_t size = 0; size < whole.size(); ++size) {
        CAPTURE(size);
        CHECK(read(std::string_view{whole}.substr(0, size)) == "more");
    }
}

// Verified to fail when the reader takes all that has come.
TEST_CASE("a reader takes the header and not one byte more, however it comes") {
    const auto whole = GENERATE(as<std::string>(), "PROXY TCP4 192.0.2.1 10.0.0.1 5000 443\r\n",
                                v2(1, 1, kIpv4Block + "more"));
    const auto piece = GENERATE(1, 3, 17, 1000);
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    const Descriptor ours{ends[0]};
    Descriptor theirs{ends[1]};
    const std::string bytes = whole + "GET / HTTP/1.1";
    ProxyHeaderReader reader;
    std::string sent;
    std::optional<ProxyHeader> header;
    while (!header) {
        CHECK_FALSE(*reader.read(ours.get()));  // nothing waits
        const auto next = bytes.substr(sent.size(), static_cast<std::size_t>(piece));
        REQUIRE(::send(theirs.get(), next.data(), next.size(), 0) ==
                static_cast<ssize_t>(next.size()));
        sent += next;
        const auto read = reader.read(ours.get());
        REQUIRE(read);
        header = *read;
    }
    CHECK(header->bytes == whole.size());
    char rest[100];
    const auto left = ::recv(ours.get(), rest, sizeof rest, 0);
    CHECK(std::string(rest, left > 0 ? static_cast<std::size_t>(left) : 0) ==
          sent.substr(whole.size()));
}

TEST_CASE("a connection that ends before its header is over") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    const Descriptor ours{ends[0]};
    Descriptor theirs{ends[1]};
    REQUIRE(::send(theirs.get(), "PROXY", 5, 0) == 5);
    ProxyHeaderReader reader;
    CHECK_FALSE(*reader.read(ours.get()));
    theirs.reset();
    CHECK(reader.read(ours.get()).error() == ProxyFault::ended);
}
