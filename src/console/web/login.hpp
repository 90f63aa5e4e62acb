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
    /// One more ends the oldest one. The order of each has no more bytes than a body.
    static constexpr std::size_t kPlansMax = 1'000;

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

    /// A plan that was shown.
    struct Shown {
        std::string session;
        std::string act;
        std::string order;
        core::MonoTime end{};  ///< set by confirmation()
    };
    /// Keeps the plan for a while. The secret that confirms it.
    std::string confirmation(Shown plan);
    /// The order of a plan, which is confirmed once. nullopt: it was shown to another session or
    /// for another act, is too old, or was confirmed before.
    std::optional<std::string> confirmed(std::string_view session, std::string_view act,
                                         std::string_view confirmation);

private:
    struct Session {
        core::MonoTime end{};
    };

    const std::string token_;
    const core::Clock& clock_;
    net::RateLimiter wrong_;
    /// By the hash of their secret: the time of a look-up reveals nothing of it.
    std::map<core::Sha256, Session> sessions_;
    std::map<core::Sha256, Shown> plans_;  ///< likewise
};

}  // namespace beckon::console
