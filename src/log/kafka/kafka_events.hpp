#pragma once

#include "core/clock.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <librdkafka/rdkafka.h>

namespace beckon::log::kafka {

/// How far the host's wall clock is from the brokers', as the last confirmed record shows: the
/// broker stamped it between its sending and its report. Thread-safe.
class ClockDifference {
public:
    /// An older proof is forgotten.
    static constexpr std::chrono::minutes kProofLife{10};

    explicit ClockDifference(const core::Clock& clock) : clock_(clock) {}

    /// A record that was sent `took` ago has the append time `appended`, which the broker gave it.
    void learn(core::Timestamp appended, core::Duration took);
    /// By how much the host's clock is ahead; negative: behind; zero: they agree. nullopt: no
    /// record was confirmed recently.
    std::optional<core::Duration> ahead() const;

private:
    static constexpr std::int64_t kNever = -1;
    const core::Clock& clock_;
    std::atomic<std::int64_t> ahead_ms_{0};
    std::atomic<std::int64_t> learned_ms_{kNever};  ///< when, by the monotonic clock
};

/// librdkafka's messages as lines of our log: one of each kind in 5 s, since a client without a
/// broker logs the same many times a second. Thread-safe; librdkafka calls it from its own threads.
class KafkaEvents {
public:
    explicit KafkaEvents(std::string servers) : servers_(std::move(servers)) {}

    /// A log line of librdkafka: syslog level, facility, text.
    void line(int level, std::string_view facility, std::string_view text);
    /// An error that librdkafka reports of the client as a whole.
    void error(rd_kafka_resp_err_t code, std::string_view text);
    /// Logs a right that the broker refuses this user (refusal()).
    void refused(const std::string& why);
    /// It was called with this.
    bool has_refused(const std::string& why) const;
    /// Why the broker refuses this user's login; empty: it does not, or no broker has answered.
    std::string login_refusal() const;
    const std::string& servers() const { return servers_; }
    /// Why no connection stands, as far as librdkafka says; empty: one does, or nothing is known.
    std::string why_away() const;
    /// A record came back or was read: the broker answers.
    void broker_answers() {
        if (away_.load(std::memory_order_relaxed)) back();
    }
    /// Learns from confirmed records.
    ClockDifference& clock_difference() { return clock_difference_; }

    /// For rd_kafka_conf_set_log_cb; the client's opaque is a KafkaEvents.
    static void log_callback(const rd_kafka_t* client, int level, const char* facility,
                             const char* text) noexcept;

private:
    void no_broker(std::string_view text);
    void login_refused(std::string_view why);
    bool is_due(const std::string& kind);
    void back();

    const std::string servers_;
    const core::SystemClock clock_;
    ClockDifference clock_difference_{clock_};
    std::atomic<bool> away_ = false;
    mutable std::mutex mutex_;
    std::string login_refusal_;                                          ///< under mutex_
    std::string why_away_;                                               ///< under mutex_
    std::map<std::string, std::chrono::steady_clock::time_point> last_;  ///< by kind; under mutex_
};

}  // namespace beckon::log::kafka
