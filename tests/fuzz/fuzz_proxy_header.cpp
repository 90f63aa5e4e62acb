// The bytes of a proxy in front of a connection are a header, its beginning, or a named fault, and
// the same in whatever pieces they come.
#include "fuzz/require.hpp"
#include "net/proxy_header.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

using namespace beckon::net;
using beckon::test::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    const auto whole = parse_proxy_header(bytes);
    if (whole && *whole) {
        require((*whole)->bytes <= bytes.size() && (*whole)->bytes <= kProxyHeaderMax);
    }
    if (whole && !*whole) require(bytes.size() < kProxyHeaderMax);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
        const auto begun = parse_proxy_header(bytes.substr(0, cut));
        // A beginning waits for more, or says already what the whole says.
        const bool waits = begun && !*begun;
        const bool complete = whole && *whole && cut >= (*whole)->bytes;
        require(complete ? begun == whole : waits || begun == whole);
        if (!waits) break;
    }
    return 0;
}
