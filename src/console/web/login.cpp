#include "console/web/login.hpp"

#include "core/base64url.hpp"
#include "core/hmac.hpp"

#include <charconv>
#include <cstdint>

namespace beckon::console {

namespace {

constexpr std::chrono::minutes kMinute{1};

std::string hmac_hex(std::string_view key, std::string_view text) {
    return core::hex(core::hmac_sha256(key, text));
}

std::int64_t unix_seconds(core::Timestamp time) {
    return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

std::optional<std::int64_t> parse_seconds(std::string_view text) {
    std::int64_t seconds = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
    return seconds;
}

std::string of_session(std::string_view end) {
    return "session of the console until " + std::string{end};
}

/// Lengths part what a caller may choose.
std::string of_order(std::string_view end, std::string_view session, std::string_view order) {
    return "order of the console until " + std::string{end} + " by " +
           std::to_string(session.size()) + ":" + std::string{session} + " of " +
           std::to_string(order.size()) + ":" + std::string{order};
}

}  // namespace

Login::Login(std::string token, const core::Clock& clock)
    : token_(std::move(token)), clock_(clock) {}

Login::Answer Login::try_token(std::string_view token) {
    const auto now = clock_.mono();
    const std::scoped_lock lock{mutex_};
    while (!wrong_.empty() && now - wrong_.front() > kMinute) wrong_.pop_front();
    if (wrong_.size() >= kWrongMax) return Answer::too_often;
    const std::string salt = "token";
    if (needed() && core::same_proof(hmac_hex(token_, salt), hmac_hex(token, salt)))
        return Answer::good;
    wrong_.push_back(now);
    return Answer::wrong;
}

std::string Login::proof(std::string_view what) const { return hmac_hex(token_, what); }

std::string Login::new_session() const {
    const auto end = std::to_string(unix_seconds(clock_.wall() + kSession));
    return end + "." + proof(of_session(end));
}

bool Login::is_session(std::string_view session) const {
    const auto dot = session.find('.');
    if (!needed() || dot == std::string_view::npos) return false;
    const auto end = session.substr(0, dot);
    const auto seconds = parse_seconds(end);
    return seconds && *seconds > unix_seconds(clock_.wall()) &&
           core::same_proof(proof(of_session(end)), std::string{session.substr(dot + 1)});
}

std::string Login::confirmation(std::string_view session, std::string_view order) const {
    const auto end = std::to_string(unix_seconds(clock_.wall() + kConfirmation));
    return end + "." + proof(of_order(end, session, order)) + "." + std::string{order};
}

std::optional<std::string> Login::confirmed(std::string_view session,
                                            std::string_view confirmation) const {
    const auto dot = confirmation.find('.');
    if (!needed() || dot == std::string_view::npos) return std::nullopt;
    const auto end = confirmation.substr(0, dot);
    const auto rest = confirmation.substr(dot + 1);
    const auto next = rest.find('.');
    const auto seconds = parse_seconds(end);
    if (!seconds || next == std::string_view::npos) return std::nullopt;
    if (*seconds <= unix_seconds(clock_.wall())) return std::nullopt;
    const auto order = rest.substr(next + 1);
    if (!core::same_proof(proof(of_order(end, session, order)),
                          std::string{rest.substr(0, next)})) {
        return std::nullopt;
    }
    return std::string{order};
}

}  // namespace beckon::console
