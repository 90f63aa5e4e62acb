#pragma once

#include "core/clock.hpp"
#include "core/enum_names.hpp"
#include "ingest/api/errors.hpp"
#include "ingest/api/http.hpp"
#include "ingest/vapid/es256.hpp"
#include "ingest/vapid/vapid_cache.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// VAPID (RFC 8292 and its predecessor) as docs/protocol/http-api.md#authorization-and-vapid has
/// it.
namespace beckon::ingest {

/// The credentials of `Authorization` (and `Crypto-Key`), not yet verified. Views into the request,
/// except that blanks within the header are removed into `storage`.
struct VapidCredentials {
    std::string_view token;  ///< the JWT
    std::string_view key;    ///< base64 text of the public key
};

/// Step 3 of the order of checks. Failures: unauthorized; bad_encryption for a generation 1 header
/// whose key is missing in `Crypto-Key`.
Checked<VapidCredentials> parse_authorization(std::string_view authorization,
                                              const RequestHeaders& headers, std::string& storage);

/// A JWT's parts, split and decoded.
struct Jwt {
    std::string_view signed_part;
    std::string signature;
    std::int64_t exp_s = 0;
    std::string aud;
};
/// Makes all checks that need no key and no clock: form, `alg`, the types of `exp`, `aud` and
/// `sub`.
Checked<Jwt> parse_jwt(std::string_view token);

/// The origins that `aud` may name: the public origin with and without its port, and extra ones.
std::vector<std::string> accepted_audiences(std::string_view origin,
                                            const std::vector<std::string>& extra);

/// A sender whose signature was verified.
struct VapidSender {
    Es256::Digest key_sha256{};
};

enum class VapidOutcome : std::uint8_t {
    hit,       ///< verified before
    verified,  ///< now
    refused,   ///< for its content: form, time, audience
    forged,    ///< the signature was checked and does not fit its key
    limited,   ///< not checked: this peer has sent too many forged ones
};
inline std::string_view to_string(VapidOutcome outcome) { return core::name_of(outcome); }

/// Step 4 of the order of checks, with the cache (docs/design.md#vapid-cache). One instance per
/// thread.
class VapidVerifier {
public:
    /// A sender's clock may be behind or ahead of ours by this.
    static constexpr std::int64_t kLeewayS = 60;
    static constexpr std::int64_t kLifetimeMaxS = 86'400;

    VapidVerifier(std::vector<std::string> audiences, std::size_t cache_entries);
    VapidVerifier(const VapidVerifier&) = delete;
    VapidVerifier& operator=(const VapidVerifier&) = delete;

    /// Failures may hold texts of this object. `may_verify` is asked before the expensive step
    /// only; it refuses peers that sent too many bad signatures (Failure too_many_requests).
    Checked<VapidSender> verify(const VapidCredentials& credentials, core::Timestamp now,
                                const std::function<Checked<void>()>& may_verify);

    /// The outcome of the last call, for metrics and for counting failures.
    VapidOutcome last_outcome() const { return last_; }
    std::size_t cached() const { return cache_.size(); }

private:
    Checked<VapidSender> verify_now(const VapidCredentials& credentials,
                                    const Es256::Digest& digest, std::int64_t now_s);

    const std::vector<std::string> audiences_;
    const std::string wrong_audience_;  ///< names the accepted audiences
    Es256 es256_;
    VapidCache cache_;
    VapidOutcome last_ = VapidOutcome::refused;
};

}  // namespace beckon::ingest
