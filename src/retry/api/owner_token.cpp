#include "retry/api/owner_token.hpp"

#include "core/ascii.hpp"
#include "core/base64url.hpp"
#include "core/hmac.hpp"
#include "records/sender_rule.hpp"

namespace beckon::retry {

using core::Fault;

namespace {

constexpr std::string_view kPurpose = "beckon/owner-token/1";
constexpr std::string_view kOwn = "own";
constexpr std::string_view kAll = "all";
constexpr std::string_view kOperates = "operates";
constexpr std::size_t kMacBytes = 24;

std::string_view right_of(const Caller& caller) {
    if (caller.operates) return kOperates;
    return caller.publishes_to_all ? kAll : kOwn;
}

/// The key's id and the MAC of the token's claims.
std::string proof(const core::KeyRing::Key& key, std::string_view claims) {
    const auto derived = core::KeyRing::derive(key, kPurpose);
    const auto mac =
        core::hmac_sha256({reinterpret_cast<const char*>(derived.data()), derived.size()}, claims);
    std::string out(1, static_cast<char>(key.id));
    return out.append(mac, 0, kMacBytes);
}

tl::unexpected<core::Error> unauthorized(const char* why) {
    return core::fail(Fault::unauthorized, why);
}

}  // namespace

core::Result<std::string> make_token(const core::KeyRing& keys, const Caller& caller) {
    return make_token(keys.sealing(), caller);
}

core::Result<std::string> make_token(const core::KeyRing::Key& key, const Caller& caller) {
    if (!core::is_owner_name(caller.owner)) {
        return core::fail(Fault::invalid, "'" + caller.owner +
                                              "' is no name of an owner: 1 to 64 lower-case "
                                              "letters, digits, '-' and '_'");
    }
    auto claims = caller.owner + "." + std::string{right_of(caller)};
    return claims + "." + core::base64url(proof(key, claims));
}

core::Result<Caller> check_token(const core::KeyRing& keys, std::string_view token) {
    const auto last = token.rfind('.');
    if (last == std::string_view::npos) return unauthorized("the token has not three parts");
    const auto claims = token.substr(0, last);
    const auto given = core::parse_base64url(token.substr(last + 1));
    if (!given || given->size() != 1 + kMacBytes) return unauthorized("the token is not whole");
    // A token has one text only, so that revocations, comparisons and log lines by its text find
    // it.
    if (core::base64url(*given) != token.substr(last + 1)) {
        return unauthorized("the token has characters behind its end");
    }
    const auto* key = keys.find(static_cast<std::uint8_t>(given->front()));
    if (!key) {
        return core::fail(Fault::not_found,
                          "the token was made with a key that is not in the key ring of this "
                          "process, which reads its file again now: repeat it in some seconds");
    }
    if (!core::same_proof(proof(*key, claims), *given)) {
        return unauthorized("the token was not made by this installation");
    }
    const auto dot = claims.find('.');
    return Caller{.owner = std::string{claims.substr(0, dot)},
                  .publishes_to_all = claims.substr(dot + 1) == kAll,
                  .operates = claims.substr(dot + 1) == kOperates};
}

core::Result<Caller> caller_of(const core::KeyRing& keys, std::string_view authorization) {
    const auto token = core::bearer_token(authorization);
    if (!token) {
        return unauthorized(
            "Authorization must be 'Bearer <token>'; `beckon webhooks token OWNER` makes one");
    }
    return check_token(keys, *token);
}

}  // namespace beckon::retry
