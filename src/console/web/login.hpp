#pragma once

#include "core/clock.hpp"

#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::console {

/// Who may see the console: whoever knows the operator's token. A browser gets a session for it, so
/// that the token itself is in no cookie. Thread-safe.
class Login {
public:
    static constexpr std::size_t kTokenBytesMin = 16;
    static constexpr std::chrono::hours kSession{12};
    /// Wrong tokens in a minute, all peers together; more are not even compared.
    static constexpr std::size_t kWrongMax = 20;
    /// How long what was shown may be confirmed.
    static constexpr std::chrono::minutes kConfirmation{5};

    /// Empty: everybody who can reach the port.
    Login(std::string token, const core::Clock& clock);

    bool needed() const { return !token_.empty(); }

    enum class Answer { good, wrong, too_often };
    Answer try_token(std::string_view token);

    /// What a browser keeps: "<end in Unix seconds>.<proof>".
    std::string new_session() const;
    bool is_session(std::string_view session) const;

    /// What proves that `session` was shown what `order` would do: "<end in Unix
    /// seconds>.<proof>.<order>".
    std::string confirmation(std::string_view session, std::string_view order) const;
    /// The order of a confirmation; nullopt: it is of another session, too old, or not ours.
    std::optional<std::string> confirmed(std::string_view session,
                                         std::string_view confirmation) const;

private:
    std::string proof(std::string_view what) const;

    const std::string token_;
    const core::Clock& clock_;
    std::mutex mutex_;
    std::deque<core::MonoTime> wrong_;  ///< of the last minute; under mutex_
};

}  // namespace beckon::console
