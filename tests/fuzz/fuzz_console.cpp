// Requests of the console's port, with and without a login: each is answered once, nobody sees a
// page without the token or a session, and no act is done that was not shown. The first byte of the
// input says whether there is a login; in the rest every "$S" is a session, every "$T" the token.
#include "console/web/web_handler.hpp"
#include "fuzz/conversation.hpp"
#include "net/http/caller.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::console;
using test::require;

std::string_view beckon::console::app_document() {
    return "<html data-session=\"\"><style>a</style><script type=\"module\">b</script>";
}

namespace {

constexpr std::string_view kToken = "0123456789abcdef0123";
constexpr net::RequestLimits kLimits{.header_bytes_max = 1'024, .body_bytes_max = 512};

struct World {
    explicit World(bool with_login)
        : token(with_login ? kToken : std::string_view{}),
          handler(token,
                  {pages,
                   clock,
                   {{"find", echo}, {"forget", [](const auto&, const auto&) {}}},
                   {{"paint", act()}}},
                  loop) {
        pages.publish("lag", "1");
    }

    static void echo(const Parameters& asked, const Reply& reply) {
        nlohmann::json all = asked;
        reply({200, all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
    }
    Act act() {
        return {[](const std::string& wanted, const std::function<void(Plan)>& planned) {
                    planned({{200, "1"}, wanted});
                },
                [this](const std::string&, const std::string&, const Reply& reply) {
                    ++acts;
                    reply({200, "{}"});
                }};
    }

    core::SystemClock clock;
    LivePages pages;
    test::QueueExecutor loop;
    const std::string token;
    int acts = 0;
    WebHandler handler;
};

std::string session_in(World& world) {
    const std::string body = "{\"token\":\"" + std::string{kToken} + "\"}";
    const std::string login = "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + body;
    std::string session;
    test::converse(world.handler, world.loop, kLimits, login,
                   [&](const auto&, const net::HttpReply& reply) {
                       const auto cookie = reply.header("Set-Cookie").value_or("");
                       session = cookie.substr(0, cookie.find(';'));
                   });
    return session;
}

/// The input, with the secrets that a client would write.
std::string written(std::string_view text, const std::string& session) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto two = text.substr(i, 2);
        if (two != "$S" && two != "$T") {
            out += text[i];
            continue;
        }
        out += two == "$S" ? session : std::string{kToken};
        ++i;
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const bool with_login = (data[0] & 1) != 0;
    World world{with_login};
    const auto session = with_login ? session_in(world) : std::string{};
    const std::string_view text{reinterpret_cast<const char*>(data + 1), size - 1};
    const bool knows_nothing =
        text.find('$') == text.npos && text.find(kToken) == std::string_view::npos;
    test::converse(world.handler, world.loop, kLimits, written(text, session),
                   [&](const net::HttpRequest& request, const net::HttpReply& reply) {
                       require(reply.header("Content-Security-Policy").has_value());
                       require(reply.status < 500 || reply.status == 503);
                       require(!reply.stream || reply.status == 200);
                       const bool secret = request.target.starts_with("/api/");
                       if (with_login && knows_nothing && secret) require(reply.status >= 400);
                       if (!with_login && reply.status < 400) {
                           require(net::names_this_host(request.authority));
                       }
                   });
    require(world.acts == 0);  // nobody was shown a confirmation in these bytes
    return 0;
}
