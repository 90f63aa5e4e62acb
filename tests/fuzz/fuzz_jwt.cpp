// VAPID tokens. The input is a token's claims as JSON text, so that base64 does not hide the
// mutations. Signed by its key, a token is good exactly if the rules of
// docs/protocol/http-api.md#authorization-and-vapid hold, written down here a second time; changed
// in one place, or with another key, it never is.
#include "client/p256_key.hpp"
#include "core/base64url.hpp"
#include "core/tokens.hpp"
#include "fuzz/require.hpp"
#include "ingest/vapid/vapid.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

using namespace beckon;
using beckon::test::require;

namespace {

constexpr std::int64_t kNow = 1'790'000'000;

client::P256Key key_of(char secret) {
    return client::P256Key::from_private(std::string(client::kScalarBytes, secret)).value();
}

bool follows_rules(std::string_view text) {
    const auto claims = nlohmann::json::parse(text, nullptr, false);
    if (!claims.is_object()) return false;
    if (!claims.contains("exp") || !claims["exp"].is_number()) return false;
    const auto exp = std::floor(claims["exp"].get<double>());  // fractions of a second do not count
    if (exp < kNow - 60 || exp > kNow + 86'400 + 60) return false;
    const nlohmann::json audience = "https://push.example.com";
    if (!claims.contains("aud")) return false;
    if (claims["aud"] != audience && claims["aud"] != nlohmann::json::array({audience})) {
        return false;
    }
    return !claims.contains("sub") || claims["sub"].is_string() || claims["sub"].is_null();
}

bool good(const std::string& token, std::string_view point) {
    ingest::VapidVerifier verifier{{"https://push.example.com"}, 1};
    const auto key = core::base64url(point);
    const core::Timestamp now{std::chrono::seconds{kNow}};
    const auto verify = [&] {
        return verifier.verify({token, key}, now, []() -> ingest::Checked<void> { return {}; });
    };
    const auto first = verify();
    require(verifier.cached() == (first ? 1U : 0U));
    const auto second = verify();  // a refused token is not remembered as good, nor the reverse
    require(first.has_value() == second.has_value());
    require(!first || (first->key_sha256 == core::sha256(point) &&
                       verifier.last_outcome() == ingest::VapidOutcome::hit));
    return first.has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    static_cast<void>(ingest::parse_jwt(text));
    static_cast<void>(ingest::parse_jwt(core::base64url(text) + ".e30.AAAA"));

    static const std::string header = core::base64url(R"({"alg":"ES256"})");
    const auto signed_part = header + "." + core::base64url(text);
    if (!ingest::parse_jwt(signed_part + ".AAAA")) {  // without a look at key and clock
        require(!follows_rules(text));
        return 0;
    }

    static const auto key = key_of('\x11');
    static const auto other_key = key_of('\x22');
    const auto token = signed_part + "." + core::base64url(key.sign(signed_part));
    require(good(token, key.public_point()) == follows_rules(text));
    require(!good(token, other_key.public_point()));
    auto changed = token;
    auto& letter = changed[(size * 7) % token.size()];
    letter = letter == 'A' ? 'B' : 'A';
    require(!good(changed, key.public_point()));
    return 0;
}
