#pragma once

#include "core/clock.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "retry/attempt/bridge/bridge_verdict.hpp"
#include "retry/attempt/bridge/credentials.hpp"
#include "retry/attempt/http_request.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// The OAuth 2 token that each request to FCM carries: asked for with a signed assertion (RFC 7523
/// §2.1), kept, and renewed before its end while the old one still serves. One request for it is
/// under way at a time; callers that need a token meanwhile wait for its answer. One thread.
class AccessToken {
public:
    /// Renewed so long before its end, but not sooner than after three quarters of its life.
    static constexpr std::chrono::minutes kRenewAhead{5};
    /// Not used any more so long before its end.
    static constexpr std::chrono::seconds kUnusedBefore{10};
    static constexpr std::chrono::seconds kLifeMost = std::chrono::hours{24};

    /// `renewed` is called with the outcome of each request. Credentials, clock, and the objects
    /// that `send` uses outlive it.
    AccessToken(const FcmCredentials& credentials, const core::Clock& clock, SendRequest send,
                std::function<void(bool good)> renewed);

    /// Answers at once or when a token is there; or with the verdict of the attempts that have
    /// none: unauthorized (the account is refused), timed_out, unreachable.
    using Answer = std::function<void(const tl::expected<std::string, BridgeVerdict>&)>;
    void get(Answer answer);
    /// FCM refused `token`: the next one is new, unless another has replaced it already.
    void drop(std::string_view token) {
        if (text_ == token) text_.clear();
    }

    /// The request for a token, as it is sent at `now` (the host's wall time).
    HttpRequest request(core::Timestamp now) const;

private:
    void renew();
    void answered(const HttpAnswer& answer);
    std::optional<BridgeVerdict> learn(const HttpAnswer& answer);

    const FcmCredentials& credentials_;
    const core::Clock& clock_;
    const SendRequest send_;
    const std::function<void(bool)> renewed_;

    std::string text_;
    core::MonoTime renew_at_{};
    core::MonoTime unused_from_{};
    bool asking_ = false;
    std::vector<Answer> waiting_;  ///< bounded by the attempts at a time
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
