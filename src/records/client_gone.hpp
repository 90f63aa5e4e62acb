#pragma once

#include "core/ids.hpp"
#include "core/record.hpp"

#include <optional>
#include <string>
#include <string_view>

/// A bridge's report that a client's token is dead (docs/formats/records.md#keys).
namespace beckon::core {

/// beckon.client.gone.v1 in `subscriptions`, key `<uaid>/gone/<token hash>`: FCM or APNs has
/// reported that this token is no longer registered. The record ends the client only while this is
/// still its token: a client that has brought a new token stays. The writer therefore needs to know
/// nothing about the client, and needs neither a home nor a lease.
struct ClientGone {
    Uaid uaid{};
    std::string token_hash{};  ///< of hash_of_token()
    bool operator==(const ClientGone&) const = default;
};

/// SHA-256 as 64 hex digits.
std::string hash_of_token(std::string_view token);
/// The hash of the token in a client's router data; nullopt if there is no token.
std::optional<std::string> hash_of_token_in(std::string_view router_data);

Record encode(const ClientGone& gone);
/// nullopt: another kind of record.
std::optional<ClientGone> decode_client_gone(const RecordView& record);

}  // namespace beckon::core
