// A text in a URL is no token, or a token that was made with this key ring: nobody finds a token
// without the keys.
#include "core/base64url.hpp"
#include "core/tokens.hpp"
#include "fuzz/require.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace beckon::core;
using beckon::test::require;

namespace {

constexpr Timestamp kNow{std::chrono::milliseconds{1'790'000'000'000}};

/// The ring that the corpus was made with: mutations stay close to valid tokens.
Tokens make_tokens() {
    Secret32 secret{};
    for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<std::uint8_t>(i);
    return Tokens{std::make_shared<KeyRing>(
        std::vector<KeyRing::Key>{{.id = 0, .secret = secret, .created = {}}},
        std::vector<std::string>{"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
        std::vector<std::string>{})};
}

/// The only Fernet tokens that exist with this ring's crypto key
/// (docs/formats/tokens.md#test-vectors).
constexpr std::array<std::string_view, 2> kFernet{
    "gAAAAABlU_EAEBESExQVFhcYGRobHB0eH8t4sR4JLw7BkeTgisdwXAZpU5w-LXrnRVfMkljwC0IBxmqirHy3bjPQ7haB"
    "D7__pBlmq7ZcaPwdgwfFybhPz2lB7Bx_LHBq8ScixMS529qq",
    "gAAAAABlU_EAEBESExQVFhcYGRobHB0eH8t4sR4JLw7BkeTgisdwXAZpU5w-LXrnRVfMkljwC0IB__MjgxYiQHx8QA-J"
    "fP4H9ptqmxpK-2UJItOwWBfPBREkXQ5lC8wzunnAoftQ396_5lLKIXWPJqW373Qe-ZPSJNDpuKYF5d3DR_MPVp3_4EY"};

std::string_view without_padding(std::string_view text) {
    for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
    return text;
}

/// A text that opens is the one that sealing its content gives.
void opens_only_sealed(Tokens& tokens, std::string_view text) {
    const auto any = tokens.open_endpoint(text, Tokens::Form::any, kNow);
    const auto v1 = tokens.open_endpoint(text, Tokens::Form::v1, kNow);
    const auto v2 = tokens.open_endpoint(text, Tokens::Form::v2, kNow);
    // A path's form only ever narrows what is admitted, and no text is both.
    require(!v1 || (any && *any == *v1));
    require(!v2 || (any && *any == *v2));
    require(!(v1 && v2));
    const auto bare = without_padding(text);
    require(v1.has_value() == (bare == kFernet[0]));
    require(v2.has_value() == (bare == kFernet[1]));
    if (any && !v1 && !v2) {
        std::optional<Sha256> bound;
        if (!any->vapid_sha256.empty()) {
            bound.emplace();
            std::copy(any->vapid_sha256.begin(), any->vapid_sha256.end(), bound->begin());
        }
        require(tokens.seal_endpoint(any->uaid, any->channel, bound) == bare);
    }
    const auto message = tokens.open_message(text);
    require(!message || tokens.seal_message(*message) == text);
    require(!(message && any));
}

/// The input's bytes as ids: what is sealed opens again, and not with one letter changed.
void round_trip(Tokens& tokens, std::string_view bytes) {
    std::array<std::uint8_t, 64> padded{};
    std::copy_n(bytes.begin(), std::min(bytes.size(), padded.size()), padded.begin());
    Uaid uaid;
    ChannelId channel;
    Sha256 bound;
    std::copy_n(padded.begin(), 16, uaid.bytes.begin());
    std::copy_n(padded.begin() + 16, 16, channel.bytes.begin());
    std::copy_n(padded.begin() + 32, 32, bound.begin());
    for (const auto& hash : {std::optional<Sha256>{}, std::optional{bound}}) {
        auto text = tokens.seal_endpoint(uaid, channel, hash);
        const auto opened = tokens.open_endpoint(text, Tokens::Form::any, kNow);
        require(opened && opened->uaid == uaid && opened->channel == channel);
        require(opened->vapid_sha256.size() == (hash ? 16U : 0U) && opened->admits(bound));
        auto& letter = text[bytes.size() % text.size()];
        letter = letter == 'A' ? 'B' : 'A';
        require(!tokens.open_endpoint(text, Tokens::Form::any, kNow));
        require(!tokens.open_message(text));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static Tokens tokens = make_tokens();
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    opens_only_sealed(tokens, text);
    round_trip(tokens, text);
    // Key lists come from people.
    const auto list = parse_crypto_keys(text);
    require(!list || parse_key_list(text));
    return 0;
}
