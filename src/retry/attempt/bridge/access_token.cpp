#include "retry/attempt/bridge/access_token.hpp"

#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/whole_number.hpp"
#include "retry/attempt/bridge/bridge_app.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using Json = nlohmann::json;
using std::chrono::duration_cast;
using std::chrono::seconds;

namespace {

constexpr const char* kScope = "https://www.googleapis.com/auth/firebase.messaging";
/// base64url needs no escaping in a form; this is `urn:ietf:params:oauth:grant-type:jwt-bearer`.
constexpr const char* kForm =
    "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
constexpr seconds kAssertionLife{3'600};

/// The verdict of an attempt that has no token, since the token server gave this answer.
BridgeVerdict without_token(const HttpAnswer& answer) {
    const std::string who = "the token server ";
    switch (answer.end) {
        case HttpAnswer::End::timed_out:
            return {BridgeOutcome::timed_out, {}, who + "did not answer"};
        case HttpAnswer::End::unreachable:
        case HttpAnswer::End::forbidden:
        case HttpAnswer::End::not_allowed:
        case HttpAnswer::End::too_large: return {BridgeOutcome::unreachable, {}, who + answer.why};
        case HttpAnswer::End::unsendable: return {BridgeOutcome::unauthorized, {}, answer.why};
        case HttpAnswer::End::answered: break;
    }
    const auto word = word_in(core::parse_json(answer.body), "error");  // RFC 6749 §5.2
    const bool refused = answer.status >= 400 && answer.status < 500 && answer.status != 429;
    return {refused ? BridgeOutcome::unauthorized : BridgeOutcome::unreachable,
            {},
            who + "answered " + std::to_string(answer.status) + (word.empty() ? "" : " " + word)};
}

}  // namespace

AccessToken::AccessToken(const FcmCredentials& credentials, const core::Clock& clock,
                         SendRequest send, std::function<void(bool)> renewed)
    : credentials_(credentials),
      clock_(clock),
      send_(std::move(send)),
      renewed_(std::move(renewed)) {}

HttpRequest AccessToken::request(core::Timestamp now) const {
    const auto at = duration_cast<seconds>(now.time_since_epoch());
    const Json header{{"alg", "RS256"}, {"typ", "JWT"}, {"kid", credentials_.key_id}};
    const Json claims{{"iss", credentials_.client_email},
                      {"scope", kScope},
                      {"aud", credentials_.token_uri},
                      {"iat", at.count()},
                      {"exp", (at + kAssertionLife).count()}};
    return {.url = credentials_.token_uri,
            .headers = {"Content-Type: application/x-www-form-urlencoded"},
            .body = kForm + credentials_.key.jwt(core::json_text(header), core::json_text(claims)),
            .timeout = kBridgeTimeout};
}

void AccessToken::get(Answer answer) {
    const auto now = clock_.mono();
    const bool usable = !text_.empty() && now < unused_from_;
    if (usable) {
        if (now >= renew_at_) renew();
        return answer(text_);
    }
    waiting_.push_back(std::move(answer));
    renew();
}

void AccessToken::renew() {
    if (std::exchange(asking_, true)) return;
    send_(request(clock_.wall()),
          lifetime_.guard([this](const HttpAnswer& answer) { answered(answer); }));
}

/// Reads the token, or says why there is none. Its life counts from the request, so it ends here no
/// later than at the server.
std::optional<BridgeVerdict> AccessToken::learn(const HttpAnswer& answer) {
    if (answer.end != HttpAnswer::End::answered || answer.status != 200) {
        return without_token(answer);
    }
    const auto object = core::parse_json(answer.body);
    const auto* life_s = core::find_member(object, "expires_in");
    const auto expires_in = life_s ? core::find_whole_number<std::uint64_t>(*life_s) : std::nullopt;
    const auto text = expires_in ? core::text_member(object, "access_token") : std::string{};
    const bool printable =
        std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
    if (text.empty() || !printable) {
        return BridgeVerdict{
            BridgeOutcome::unreachable, {}, "the token server answered without a token"};
    }
    const auto most = static_cast<std::uint64_t>(kLifeMost.count());
    const seconds life{std::min(*expires_in, most)};
    const auto now = clock_.mono() - answer.took;
    text_ = text;
    renew_at_ = now + std::max<core::Duration>(life - kRenewAhead, 3 * life / 4);
    unused_from_ = now + std::max<core::Duration>(life - kUnusedBefore, life / 2);
    return std::nullopt;
}

void AccessToken::answered(const HttpAnswer& answer) {
    asking_ = false;
    const auto fault = learn(answer);
    renewed_(!fault);
    // A failed renewal is no news while the former token is valid.
    for (const auto& waiting : std::exchange(waiting_, {})) {
        fault ? waiting(tl::unexpected(*fault)) : waiting(text_);
    }
}

}  // namespace beckon::retry
