#pragma once

#include "app/process/certificates.hpp"
#include "core/clock.hpp"
#include "core/shortage.hpp"
#include "log/event_log.hpp"
#include "log/kafka/kafka_log.hpp"
#include "ops/health.hpp"
#include "ops/metrics.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

/// The work of a process beside its roles.
namespace beckon::app {

/// One thread ("housekeeping") that calls each chore once a second, as long as this lives. A chore
/// may wait a second for the log: nobody waits for this thread.
class Housekeeping {
public:
    static constexpr std::chrono::seconds kEvery{1};

    /// All that the chores use outlives it.
    explicit Housekeeping(std::vector<std::function<void()>> chores);

private:
    std::jthread thread_;
};

/// Says when a part of a chore is due that is done less often than once a second.
class Due {
public:
    /// Due at once, and then so long after each time that it was.
    bool every(core::Duration period);
    /// Not due for so long.
    void in(core::Duration time) { next_ = std::chrono::steady_clock::now() + time; }

private:
    std::chrono::steady_clock::time_point next_{};
};

/// Notices that a person, or time synchronisation, has set the host's wall clock: it then differs
/// from the time since boot.
class ClockWatch {
public:
    /// Smaller corrections are the daily work of time synchronisation.
    static constexpr core::Duration kWorthALine = std::chrono::seconds{1};
    /// Two clocks that were not read at one moment cannot be compared.
    static constexpr core::Duration kOneMoment = std::chrono::milliseconds{100};

    explicit ClockWatch(const core::Clock& clock) : clock_(clock) {}

    /// By how much the wall clock was set since the last call, forwards or (negative) backwards.
    /// nullopt: not at all, by less than kWorthALine, or it cannot be known now.
    std::optional<core::Duration> poll();
    /// poll(), with a line in the log. A chore.
    void look();

private:
    const core::Clock& clock_;
    std::optional<core::Duration> offset_;  ///< of the wall clock, against the time since boot
};

/// The warning for a host's clock that is ahead of the log's time by so much (negative: behind);
/// empty: no warning is needed.
std::string clock_warning(core::Duration ahead);

/// Compares the host's clock with the log's time: a warning in /ready, a metric, and a log line
/// when it becomes wrong and when it is right again.
class LogClockWatch {
public:
    /// Smaller differences harm neither VAPID tokens nor append times.
    static constexpr std::chrono::seconds kTooFar{60};

    /// All outlive it.
    LogClockWatch(const log::EventLog& log, ops::Health& health, ops::Metrics& metrics);
    /// A chore.
    void look();

private:
    const log::EventLog& log_;
    ops::Health& health_;
    prometheus::Gauge& gauge_;
    bool warned_ = false;
};

/// Notices that something of the host runs out: space on the disk of the data directory, and the
/// time of certificates. Logs a line when the disk becomes short of space and one when it no longer
/// is, and one a day for each certificate that ends soon.
class HostWatch {
public:
    static constexpr std::chrono::seconds kLookEvery{10};
    static constexpr std::chrono::hours kCertificateLineEvery{24};

    HostWatch(const core::Clock& clock, std::filesystem::path data,
              std::vector<CertificateFile> certificates)
        : clock_(clock), data_(std::move(data)), certificates_(std::move(certificates)) {}

    /// A chore.
    void look();
    /// `free` of `size` bytes are free on the disk of the data directory.
    void disk(double free, double size);
    /// Judges when it ends. One that cannot be read, or is not valid yet, is for others to say.
    void certificate(const CertificateFile& one);

private:
    const core::Clock& clock_;
    const std::filesystem::path data_;
    const std::vector<CertificateFile> certificates_;
    Due due_;
    bool filling_ = false;
    std::map<std::filesystem::path, core::MonoTime> next_line_;  ///< of a certificate
};

/// Renews the login at Kafka of a running process: reads the files that hold `sasl.username` and
/// `sasl.password` at SIGHUP and every kReadEvery, and gives a login that has changed to all
/// clients. A certificate for Kafka cannot be renewed so: /ready warns that it has changed on the
/// disk.
class LoginWatch {
public:
    static constexpr std::chrono::seconds kReadEvery{5};

    /// `health` outlives it.
    LoginWatch(const log::KafkaConfig& config, ops::Health& health);

    /// SIGHUP. Any thread.
    void reread() { asked_ = true; }
    /// A chore.
    void look();

private:
    void look_at_login();
    void look_at_certificate();
    std::string certificate() const;

    const log::KafkaConfig config_;
    ops::Health& health_;
    const bool has_login_;  ///< in a file
    log::KafkaLogin login_;
    const std::string certificate_;  ///< as the clients have it; empty: none
    std::atomic<bool> asked_ = false;
    std::string warned_;
    Due due_;
};

}  // namespace beckon::app
