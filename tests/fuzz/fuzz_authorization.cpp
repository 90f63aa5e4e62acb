// Authorization and Crypto-Key, as a sender may write them: the first line of the input is the
// one, the second the other.
#include "core/ascii.hpp"
#include "fuzz/require.hpp"
#include "ingest/api/encryption_headers.hpp"
#include "ingest/vapid/vapid.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

using namespace beckon::ingest;
using beckon::core::kBlanks;
using beckon::test::require;

namespace {

/// The result, without the text for people.
struct Outcome {
    std::optional<Problem> problem;
    std::string token;
    std::string key;
    bool operator==(const Outcome&) const = default;
};

Outcome parse(std::string_view authorization, const RequestHeaders& headers) {
    std::string storage;
    const auto parsed = parse_authorization(authorization, headers, storage);
    if (!parsed) return {parsed.error().problem, {}, {}};
    return {{}, std::string{parsed->token}, std::string{parsed->key}};
}

std::string upper(std::string_view text) {
    std::string out{text};
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    return out;
}

/// The items in reverse order; nullopt if `t` or `k` is there twice, since then the last one
/// counts.
std::optional<std::string> reversed(std::string_view items) {
    std::string out;
    std::size_t tokens = 0;
    std::size_t keys = 0;
    for (bool more = true; more;) {
        const auto comma = items.rfind(',');
        more = comma != std::string_view::npos;
        const auto item = more ? items.substr(comma + 1) : items;
        items = more ? items.substr(0, comma) : std::string_view{};
        const auto name = upper(item.substr(0, 2));  // the names of items have no case
        if (name == "T=") ++tokens;
        if (name == "K=") ++keys;
        out += item;
        if (more) out += ',';
    }
    if (tokens > 1 || keys > 1) return std::nullopt;
    return out;
}

void never_verified(const Outcome& outcome) {
    static VapidVerifier verifier{{"https://push.example.com"}, 4};
    const beckon::core::Timestamp now{std::chrono::milliseconds{1'790'000'000'000}};
    const auto sender =
        verifier.verify({outcome.token, outcome.key}, now, []() -> Checked<void> { return {}; });
    require(!sender && sender.error().problem == Problem::unauthorized);
    require(verifier.cached() == 0);
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
    const auto outcome = parse(authorization, headers);

    const auto space = authorization.find_first_of(kBlanks);
    const auto scheme = upper(authorization.substr(0, space));
    const bool generation_1 = scheme == "WEBPUSH" || scheme == "BEARER";
    const bool known = space != std::string_view::npos && (generation_1 || scheme == "VAPID");
    require(known || outcome.problem == Problem::unauthorized);
    require(outcome.problem != Problem::bad_encryption || generation_1);
    if (known) {  // neither the scheme's case nor blanks behind it matter
        std::string spaced = scheme + " ";
        for (const char c : authorization.substr(space + 1)) (spaced += c) += ' ';
        require(parse(spaced, headers) == outcome);
    }
    if (scheme == "VAPID" && known) {
        auto items = std::string{authorization.substr(space + 1)};
        std::erase_if(items, [](char c) { return kBlanks.find(c) != std::string_view::npos; });
        const auto other_order = reversed(items);
        require(!other_order || parse("vapid " + *other_order, headers) == outcome);
    }
    if (!outcome.problem) {
        require(outcome.token.find_first_of(kBlanks) == std::string::npos);
        require(!generation_1 ||
                find_parameter(headers.get(HeaderName::crypto_key).value(), "p256ecdsa").value ==
                    outcome.key);
        never_verified(outcome);
    }
    return 0;
}
