#pragma once

#include "core/ids.hpp"
#include "core/record.hpp"

#include <optional>
#include <string>
#include <string_view>

/// The word of a bridge that a client's token is dead (docs/formats/records.md#keys).
namespace beckon::core {

/// beckon.client.gone.v1 in `subscriptions`, key `<uaid>/gone/<token hash>`: FCM or APNs has said
/// that nobody is behind this token any more. It ends the client as long as that is its token, and
/// nothing else: a client that has brought a new token meanwhile is not concerned. Whoever writes
/// it need not know how the client stands, so no home and no lease is needed.
struct ClientGone {
    Uaid uaid{};
    std::string token_hash{};  ///< of hash_of_token()
    bool operator==(const ClientGone&) const = default;
};

/// SHA-256 as 64 hex digits.
std::string hash_of_token(std::string_view token);
/// The same of the token in a client's router data; nullopt if there is none.
std::optional<std::string> hash_of_token_in(std::string_view router_data);

Record encode(const ClientGone& gone);
/// nullopt: another kind of record.
std::optional<ClientGone> decode_client_gone(const RecordView& record);

}  // namespace beckon::core
