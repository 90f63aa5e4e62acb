// Authorization and Crypto-Key, as a sender may write them: the first line of the input is the
// one, the second the other.
#include "ingest/encryption_headers.hpp"
#include "ingest/vapid.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace beckon::ingest;

namespace {

void require(bool ok) {
    if (!ok) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto line = text.find('\n');
    const auto authorization = text.substr(0, line);
    const auto crypto_key =
        line == std::string_view::npos ? std::string_view{} : text.substr(line + 1);
    RequestHeaders headers;
    headers.add(HeaderName::crypto_key, crypto_key);

    std::string storage;
    const auto credentials = parse_authorization(authorization, headers, storage);
    if (credentials) {
        require(credentials->token.find(' ') == std::string_view::npos);
        static VapidVerifier verifier{{"https://push.example.com"}, 4};
        const beckon::core::Timestamp now{std::chrono::milliseconds{1'790'000'000'000}};
        const auto sender =
            verifier.verify(*credentials, now, []() -> Checked<void> { return {}; });
        // Nobody can guess a signature.
        require(!sender || verifier.last_outcome() != VapidOutcome::refused);
    }
    return 0;
}
