#pragma once

#include "core/clock.hpp"
#include "core/enum_names.hpp"
#include "core/tokens.hpp"
#include "ingest/api/errors.hpp"
#include "ingest/api/http.hpp"
#include "net/peer_address.hpp"
#include "net/rate_limiter.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// VAPID (RFC 8292 and its predecessor) as docs/protocol/http-api.md#authorization-and-vapid has
/// it.
namespace beckon::ingest {

/// Limits VAPID checks that cost a signature verification and fail. Tokens that are refused before
/// their signature is checked (expired, for another audience) do not count, and the limit does not
/// apply to tokens that were verified before. Thread-safe.
class FailedChecks {
public:
    /// The peer against whom a failure counts.
    struct Origin {
        net::PeerAddress client;  ///< behind trusted proxies: the client's
        /// The client that the peer claims to forward, if the peer looks like a proxy that the
        /// configuration does not name (docs/configuration.md, endpoint.trusted_proxies).
        std::optional<net::PeerAddress> claimed;
    };

    /// Each client behind an unnamed proxy has its own count, so that none stops the others.
    /// Together they have so many times the limit, so that a peer that invents clients is stopped
    /// all the same.
    static constexpr std::size_t kClaimedClients = 20;

    /// 0: no limit.
    explicit FailedChecks(std::size_t per_minute);

    /// nullopt: another check is allowed. Otherwise the time until the next one is.
    std::optional<std::chrono::seconds> wait(const Origin& origin, core::MonoTime now) const;
    /// Counts a failure.
    void add(const Origin& origin, core::MonoTime now);

private:
    net::RateLimiter clients_;
    net::RateLimiter unnamed_proxies_;
};

/// Verified (token, key) pairs, by a SHA-256 over both. The caller checks time on every use. One
/// thread.
///
/// Bounded, in two segments, each in order of its last use: a pair is new until it is found for the
/// first time, and proven from then on. New pairs make space first. Every client can make keys and
/// sign tokens with them, so the pairs of a flood, each used once, evict each other and no pair of
/// a sender that comes again.
class VapidCache {
public:
    struct Verified {
        std::int64_t exp_s = 0;
        core::Sha256 key_sha256{};
    };

    explicit VapidCache(std::size_t entries_max)
        : entries_max_(entries_max), proven_max_(entries_max - entries_max / 5) {}

    std::optional<Verified> find(const core::Sha256& digest);
    void put(const core::Sha256& digest, const Verified& verified);
    void erase(const core::Sha256& digest);
    std::size_t size() const { return index_.size(); }

private:
    using Order = std::list<const core::Sha256*>;  ///< keys of index_, the newest first
    struct Hash {
        std::size_t operator()(const core::Sha256& digest) const noexcept {
            std::size_t h;
            std::memcpy(&h, digest.data(), sizeof h);  // a digest is uniform already
            return h;
        }
    };
    struct Entry {
        Verified verified;
        Order::iterator place;  ///< in proven_ or fresh_
        bool proven = false;
    };

    const std::size_t entries_max_;
    const std::size_t proven_max_;
    std::unordered_map<core::Sha256, Entry, Hash> index_;
    Order fresh_;
    Order proven_;
};

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
    core::Sha256 key_sha256{};
};

enum class VapidOutcome : std::uint8_t {
    hit,       ///< verified before
    verified,  ///< now
    refused,   ///< for its content: form, time, audience
    forged,    ///< the signature was checked and does not fit its key
    limited,   ///< not checked: this peer has sent too many forged ones
};
inline std::string_view to_string(VapidOutcome outcome) { return core::name_of(outcome); }

class Es256;

/// Step 4 of the order of checks, with the cache (docs/design.md#vapid-cache). One instance per
/// thread.
class VapidVerifier {
public:
    /// A sender's clock may be behind or ahead of ours by this.
    static constexpr std::int64_t kLeewayS = 60;
    static constexpr std::int64_t kLifetimeMaxS = 86'400;

    VapidVerifier(std::vector<std::string> audiences, std::size_t cache_entries);
    ~VapidVerifier();
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
    Checked<VapidSender> verify_now(const VapidCredentials& credentials, const core::Sha256& digest,
                                    std::int64_t now_s);

    const std::vector<std::string> audiences_;
    const std::string wrong_audience_;  ///< names the accepted audiences
    const std::unique_ptr<Es256> es256_;
    VapidCache cache_;
    VapidOutcome last_ = VapidOutcome::refused;
};

}  // namespace beckon::ingest
