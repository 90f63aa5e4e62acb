#include "records/client_gone.hpp"

#include "core/base64url.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/tokens.hpp"
#include "records/fields.hpp"
#include "records/headers.hpp"
#include "records/log_key.hpp"

#include <nlohmann/json.hpp>

namespace beckon::core {

namespace {

constexpr std::string_view kType = "beckon.client.gone.v1";
constexpr std::string_view kBetween = "/gone/";
constexpr std::size_t kHashSize = 64;

}  // namespace

std::string hash_of_token(std::string_view token) { return hex(sha256(token)); }

std::optional<std::string> hash_of_token_in(std::string_view router_data) {
    const auto data = parse_json(router_data);
    const auto* token = find_text(data, "token");
    return token ? std::optional{hash_of_token(*token)} : std::nullopt;
}

Record encode(const ClientGone& gone) {
    auto key = to_hex(gone.uaid).append(kBetween).append(gone.token_hash);
    // A value, so that compaction does not take it for a tombstone.
    return state_record(std::move(key), kType, "{}");
}

std::optional<ClientGone> decode_client_gone(const RecordView& record) {
    auto rest = record.key;
    if (rest.size() != kHexSize + kBetween.size() + kHashSize || !record.value) return std::nullopt;
    const auto uaid = parse_hex16(rest.substr(0, kHexSize));
    rest.remove_prefix(kHexSize);
    if (!uaid || !rest.starts_with(kBetween)) return std::nullopt;
    rest.remove_prefix(kBetween.size());
    if (!parse_sha256(rest) || record.header(header::kType) != kType) return std::nullopt;
    return ClientGone{.uaid = Uaid{*uaid}, .token_hash = std::string{rest}};
}

}  // namespace beckon::core
