#pragma once

#include "core/clock.hpp"
#include "log/kafka/kafka_events.hpp"

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>

namespace beckon::log::kafka {

/// How long a question to the brokers is asked again while no connection stands. A new client's
/// first connection takes more than a second where brokers are busy or have just begun, since TLS
/// and the login are part of it, and until then librdkafka answers each question with "all brokers
/// are down". A login that a broker refuses is tried for a moment only: brokers apply new SCRAM
/// credentials after the command that sets them has returned.
class Patience {
public:
    static constexpr std::chrono::milliseconds kLoginMax{1000};

    Patience(const KafkaEvents& events, core::Duration limit, std::stop_token stop,
             const core::Clock& clock)
        : events_(events), clock_(clock), until_(clock.mono() + limit), stop_(std::move(stop)) {}

    /// After an attempt that failed: whether to make another one.
    bool again() {
        const auto now = clock_.mono();
        if (stop_.stop_requested() || now >= until_) return false;
        if (events_.login_refusal().empty()) {
            refused_ = core::MonoTime::max();
            return true;
        }
        refused_ = std::min(refused_, now);
        return now - refused_ < kLoginMax;
    }

private:
    const KafkaEvents& events_;
    const core::Clock& clock_;
    const core::MonoTime until_;
    const std::stop_token stop_;
    core::MonoTime refused_ = core::MonoTime::max();  ///< when again() saw a refusal first
};

}  // namespace beckon::log::kafka
