#include "records/client_gone.hpp"

#include "core/base64url.hpp"
#include "core/json_text.hpp"
#include "core/tokens.hpp"
#include "records/fields.hpp"
#include "records/headers.hpp"
#include "records/log_key.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace beckon::core {

namespace {

constexpr std::string_view kType = "beckon.client.gone.v1";
constexpr std::string_view kBetween = "/gone/";
constexpr std::size_t kHashSize = 64;

bool is_hash(std::string_view text) {
    const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    return text.size() == kHashSize && std::all_of(text.begin(), text.end(), digit);
}

}  // namespace

std::string hash_of_token(std::string_view token) {
    const auto hash = sha256(token);
    return hex({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

std::optional<std::string> hash_of_token_in(std::string_view router_data) {
    const auto data = parse_json(router_data);
    if (!data.is_object()) return std::nullopt;
    const auto token = data.find("token");
    if (token == data.end() || !token->is_string()) return std::nullopt;
    return hash_of_token(token->get_ref<const std::string&>());
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
    if (!is_hash(rest) || record.header(header::kType) != kType) return std::nullopt;
    return ClientGone{.uaid = Uaid{*uaid}, .token_hash = std::string{rest}};
}

}  // namespace beckon::core
