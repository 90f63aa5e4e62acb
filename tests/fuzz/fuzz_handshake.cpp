// Heads at the edge's port: a handshake goes to libwebsockets only as its parser takes it, every
// other head gets an answer, and one that is answered by its path has one meaning, that of the
// parser of all other ports.
#include "edge/ws/handshake.hpp"
#include "fuzz/require.hpp"
#include "net/http/request_parser.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

using namespace beckon;
using test::require;

namespace {

void one_meaning(std::string_view head) {
    net::RequestParser parser{{.header_bytes_max = edge::kHttpHeadMax, .body_bytes_max = 0}};
    std::size_t used = 0;
    require(parser.put(head, used) == net::RequestParser::Status::complete);
    require(used == head.size());
    require(parser.request().method == net::Method::get);
    require(parser.request().body.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    const auto end = edge::size_of_head(bytes);
    if (!end) return 0;
    require(*end <= bytes.size());
    require(!edge::size_of_head(bytes.substr(0, *end - 1)));
    const auto head = bytes.substr(0, *end);
    static const std::vector<std::string> anywhere;
    static const std::function<edge::MonitorStatus()> monitor = [] {
        return edge::MonitorStatus{.version = "1", .connections = 0};
    };
    const auto judged =
        edge::judge_head(head, {.path = "/", .allowed_origins = anywhere, .monitor = monitor});
    if (judged) {
        one_meaning(head);
        require(!judged->subprotocol.empty());
        require(judged->subprotocol.size() <= edge::kSubprotocolNameMax);
    } else {
        const auto status = judged.error().reply.status;
        require(status >= 200 && status < 500);
        if (status == 200) one_meaning(head);
        require(to_wire(judged.error()).starts_with("HTTP/1.1 "));
    }
    return 0;
}
