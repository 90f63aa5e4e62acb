// Heads at the edge's port whose target is in absolute form: one that is answered has one meaning,
// that of the parser of all other ports; no byte that comes later changes what was decided; and
// nothing is taken from the connection that has not come.
#include "edge/ws/absolute_form.hpp"
#include "fuzz/require.hpp"
#include "net/http/request_parser.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

using namespace beckon;
using edge::HeadVerdict;
using test::require;
using Kind = HeadVerdict::Kind;

namespace {

void answered_as_elsewhere(std::string_view head, const HeadVerdict& verdict) {
    net::RequestParser parser{{.header_bytes_max = edge::kHttpHeadMax, .body_bytes_max = 0}};
    std::size_t used = 0;
    require(parser.put(head, used) == net::RequestParser::Status::complete);
    require(used == verdict.bytes);
    require(verdict.path.starts_with('/') && verdict.path.find('?') == std::string::npos);
    require(parser.request().target.starts_with(verdict.path));
    require(parser.request().body.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view head{reinterpret_cast<const char*>(data), size};
    const auto whole = edge::judge_head(head);
    require(whole.bytes <= head.size());
    require((whole.bytes > 0) == (whole.kind == Kind::plain || whole.kind == Kind::refused));
    if (whole.kind == Kind::plain) answered_as_elsewhere(head, whole);
    // The head in two pieces.
    const auto first = edge::judge_head(head.substr(0, size > 0 ? data[size - 1] % size : 0));
    if (first.kind != Kind::incomplete) {
        require(first.kind == whole.kind && first.path == whole.path);
    }
    return 0;
}
