#include "console/web/login.hpp"

#include "core/base64url.hpp"
#include "core/decimal.hpp"
#include "core/hmac.hpp"
#include "core/ids.hpp"

#include <algorithm>
#include <cstdint>

namespace beckon::console {

namespace {

std::string hmac_hex(std::string_view key, std::string_view text) {
    return core::hex(core::hmac_sha256(key, text));
}

/// 244 random bits.
std::string random_text() {
    return core::to_hex(core::random_uuid4()) + core::to_hex(core::random_uuid4());
}

/// Seconds of the process's clock, which no step of the host's time moves.
std::int64_t seconds_of(core::MonoTime time) {
    return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

/// Lengths separate the parts that a caller may choose.
std::string of_order(std::string_view end, std::string_view session, std::string_view order) {
    return "order of the console until " + std::string{end} + " by " +
           std::to_string(session.size()) + ":" + std::string{session} + " of " +
           std::to_string(order.size()) + ":" + std::string{order};
}

}  // namespace

Login::Login(std::string token, const core::Clock& clock)
    : token_(std::move(token)),
      clock_(clock),
      secret_(random_text()),
      wrong_({.limit = kWrongMax, .window = std::chrono::minutes{1}}) {}

Login::Answer Login::try_token(std::string_view token, const net::PeerAddress& peer) {
    if (needed() && core::same_proof(token_, token)) {
        return Answer::good;
    }
    return wrong_.try_spend(peer.limit_key(), clock_.mono()) ? Answer::too_often : Answer::wrong;
}

std::string Login::proof(std::string_view what) const { return hmac_hex(secret_, what); }

std::string Login::new_session() {
    const auto now = clock_.mono();
    std::erase_if(sessions_, [&](const auto& one) { return one.second <= now; });
    if (sessions_.size() >= kSessionsMax) {
        sessions_.erase(std::min_element(
            sessions_.begin(), sessions_.end(),
            [](const auto& one, const auto& other) { return one.second < other.second; }));
    }
    auto session = random_text();
    sessions_.emplace(core::sha256(session), now + kSession);
    return session;
}

bool Login::is_session(std::string_view session) const {
    const auto found = sessions_.find(core::sha256(session));
    return found != sessions_.end() && found->second > clock_.mono();
}

void Login::end_session(std::string_view session) { sessions_.erase(core::sha256(session)); }

std::string Login::confirmation(std::string_view session, std::string_view order) const {
    const auto end = std::to_string(seconds_of(clock_.mono() + kConfirmation));
    return end + "." + proof(of_order(end, session, order)) + "." + std::string{order};
}

std::optional<std::string> Login::confirmed(std::string_view session,
                                            std::string_view confirmation) const {
    const auto dot = confirmation.find('.');
    if (!needed() || dot == std::string_view::npos) return std::nullopt;
    const auto end = confirmation.substr(0, dot);
    const auto rest = confirmation.substr(dot + 1);
    const auto next = rest.find('.');
    const auto seconds = core::parse_decimal<std::int64_t>(end);
    if (!seconds || next == std::string_view::npos) return std::nullopt;
    if (*seconds <= seconds_of(clock_.mono())) return std::nullopt;
    const auto order = rest.substr(next + 1);
    if (!core::same_proof(proof(of_order(end, session, order)),
                          std::string{rest.substr(0, next)})) {
        return std::nullopt;
    }
    return std::string{order};
}

}  // namespace beckon::console
