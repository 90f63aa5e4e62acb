#include "retry/attempt/bridge/provider_token.hpp"

#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace beckon::retry {

using std::chrono::duration_cast;
using std::chrono::seconds;

bool ProviderToken::is_old(core::Timestamp now) const {
    if (text_.empty() || now < made_) return true;  // the host's clock was set back
    return now - made_ >= (refused_ ? kRenewNoSooner : kRenewAfter);
}

const std::string& ProviderToken::at(core::Timestamp now) {
    if (!is_old(now)) return text_;
    const nlohmann::json header{{"alg", "ES256"}, {"kid", credentials_.key_id}};
    const nlohmann::json claims{{"iss", credentials_.team_id},
                                {"iat", duration_cast<seconds>(now.time_since_epoch()).count()}};
    text_ = credentials_.key.jwt(core::json_text(header), core::json_text(claims));
    made_ = now;
    refused_ = false;
    ++renewals_;
    return text_;
}

}  // namespace beckon::retry
