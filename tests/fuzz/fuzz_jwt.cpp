// The claims of a VAPID token. The input is a token's claims as JSON text, so that what is mutated
// is not hidden by base64; whatever it is, either all rules hold or it is refused.
#include "core/base64url.hpp"
#include "ingest/vapid.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace beckon;

namespace {

void require(bool ok) {
    if (!ok) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    static_cast<void>(ingest::parse_jwt(text));

    static const std::string header = core::base64url(R"({"alg":"ES256"})");
    const auto token = header + "." + core::base64url(text) + ".AAAA";
    const auto jwt = ingest::parse_jwt(token);
    if (jwt) {
        require(jwt->exp_s >= 0);
        require(jwt->signature.size() == 3);
        require(std::string_view{token}.starts_with(jwt->signed_part));
    }
    static_cast<void>(ingest::parse_jwt(core::base64url(text) + ".e30.AAAA"));
    return 0;
}
