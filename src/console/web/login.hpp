#pragma once

#include "core/clock.hpp"
#include "core/tokens.hpp"
#include "net/peer_address.hpp"
#include "net/rate_limiter.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::console {

/// Sessions of the console: a browser gets one for the operator's token, so that the token itself
/// is in no cookie. Only this process knows its sessions: they end at a log-out, after their time,
/// or with the process. One thread.
class Login {
public:
    static constexpr std::size_t kTokenBytesMin = 16;
    static constexpr std::chrono::hours kSession{12};
    /// One more ends the one that would have ended first.
    static constexpr std::size_t kSessionsMax = 1'000;
    /// Wrong tokens that one address may try in a minute; further ones are `too_often`.
    static constexpr std::size_t kWrongMax = 20;
    /// How long a plan that was shown may be confirmed.
    static constexpr std::chrono::minutes kConfirmation{5};

    /// Empty token: everybody who can reach the port is admitted.
    Login(std::string token, const core::Clock& clock);

    bool needed() const { return !token_.empty(); }

    enum class Answer { good, wrong, too_often };
    /// The right token is good, even after wrong ones from its address.
    Answer try_token(std::string_view token, const net::PeerAddress& peer);

    /// The secret of a new session, which the browser keeps.
    std::string new_session();
    bool is_session(std::string_view session) const;
    /// Ends a session.
    void end_session(std::string_view session);

    /// The proof that `session` has seen the plan of `order`: "<end>.<proof>.<order>".
    std::string confirmation(std::string_view session, std::string_view order) const;
    /// The order of a confirmation; nullopt: it is of another session, too old, or not ours.
    std::optional<std::string> confirmed(std::string_view session,
                                         std::string_view confirmation) const;

private:
    std::string proof(std::string_view what) const;

    const std::string token_;
    const core::Clock& clock_;
    const std::string secret_;  ///< of this process: makes confirmations
    net::RateLimiter wrong_;
    /// Each with its end, by its hash: the time of a look-up reveals nothing of a session.
    std::map<core::Sha256, core::MonoTime> sessions_;
};

}  // namespace beckon::console
