// Whatever stands in a URL is no token, or a token that this key ring makes.
#include "core/tokens.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace beckon::core;

namespace {

/// The ring that the corpus was made with: what is mutated stays close to what opens.
Tokens make_tokens() {
    Secret32 secret{};
    for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<std::uint8_t>(i);
    return Tokens{std::make_shared<KeyRing>(
        std::vector<KeyRing::Key>{{.id = 0, .secret = secret, .created = {}}},
        std::vector<std::string>{"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
        std::vector<std::string>{})};
}

void require(bool ok) {
    if (!ok) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static Tokens tokens = make_tokens();
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const Timestamp now{std::chrono::milliseconds{1'790'000'000'000}};

    const auto any = tokens.open_endpoint(text, Tokens::Form::any, now);
    const auto v1 = tokens.open_endpoint(text, Tokens::Form::v1, now);
    const auto v2 = tokens.open_endpoint(text, Tokens::Form::v2, now);
    // A path's form only ever narrows what is admitted, and no text is both.
    require(!v1 || (any && *any == *v1));
    require(!v2 || (any && *any == *v2));
    require(!(v1 && v2));
    if (any && !v1 && !v2 && any->vapid_sha256.empty()) {
        const auto again = tokens.seal_endpoint(any->uaid, any->channel);
        require(text.substr(0, again.size()) == again);  // padding may follow
    }

    const auto message = tokens.open_message(text);
    require(!message || tokens.seal_message(*message) == text);
    require(!(message && any));

    // Key lists come from people.
    const auto list = parse_crypto_keys(text);
    require(!list || parse_key_list(text));
    return 0;
}
