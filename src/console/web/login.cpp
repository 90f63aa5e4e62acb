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

std::string Login::proof(std::string_view end) const {
    return hmac_hex(token_, "session of the console until " + std::string{end});
}

std::string Login::new_session() const {
    const auto end = std::to_string(unix_seconds(clock_.wall() + kSession));
    return end + "." + proof(end);
}

bool Login::is_session(std::string_view session) const {
    const auto dot = session.find('.');
    if (!needed() || dot == std::string_view::npos) return false;
    const auto end = session.substr(0, dot);
    std::int64_t seconds = 0;
    const auto read = std::from_chars(end.data(), end.data() + end.size(), seconds);
    if (read.ec != std::errc{} || read.ptr != end.data() + end.size()) return false;
    return seconds > unix_seconds(clock_.wall()) &&
           core::same_proof(proof(end), session.substr(dot + 1));
}

}  // namespace beckon::console
