#pragma once

#include "app/config/config.hpp"
#include "app/process/housekeeping.hpp"
#include "core/key_ring.hpp"
#include "log/control.hpp"
#include "log/event_log.hpp"
#include "ops/health.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Reads the topic `control` of a running process every half minute, and every two seconds while
/// that fails: it may name a newer key ring, or another log.
namespace beckon::app {

/// Rotates the key ring of a running process without a moment in which one process refuses
/// another's tokens. The process reads new keys from the file at SIGHUP, or when the log names a
/// ring that it does not have. A key encrypts once the log names its ring. The operator publishes
/// that (`beckon keys publish`) when every process has read the key; where there is only one
/// process, it publishes by itself.
///
/// /ready warns while keys wait to be published, and while the log names a ring that the file does
/// not have.
class KeyRingWatch {
public:
    /// The publisher of new keys: the operator, or this process if it is the only one.
    enum class Publishes : std::uint8_t { operator_does, this_process };

    /// All outlive it but `config`. Components share `ring`, which grows.
    KeyRingWatch(log::EventLog& log, Config config, core::KeyRing& ring, ops::Health& health,
                 Publishes publishes)
        : log_(log),
          config_(std::move(config)),
          ring_(ring),
          health_(health),
          publishes_(publishes) {}

    /// SIGHUP: the file is to be read again. A file that cannot be read, or that lacks keys of the
    /// ring in use, changes nothing but a warning. Any thread.
    void reread() { asked_ = true; }
    /// Somebody has brought what a key made that this process lacks, as a tool does with a file
    /// that was rotated: as reread(), at most once in kMissingEvery. Any thread.
    void key_missing();

    bool asked() const { return asked_; }
    /// `control`: as it was read now; nullopt: it could not be.
    void look(const std::optional<log::Control>& control);

private:
    static constexpr std::chrono::seconds kMissingEvery{5};

    void compare(const log::Control& control);
    std::string read_file();
    void seal_as(const core::KeyRing& in_force);
    std::vector<std::string> auth_key_alone() const;
    bool same_auth_key(const core::KeyRing& other) const;
    void warn(const char* what, const std::string& why);

    log::EventLog& log_;
    const Config config_;
    core::KeyRing& ring_;
    ops::Health& health_;
    const Publishes publishes_;
    std::atomic<bool> asked_ = false;
    /// The last time that key_missing() had an effect.
    std::atomic<std::chrono::steady_clock::time_point> missed_{std::chrono::steady_clock::now() -
                                                               kMissingEvery};
    std::string warned_;
};

/// Notices that the log topics were deleted and made anew under a running process, or adopted: the
/// topic `control` names another log id than the one with which the process began. Its stores,
/// positions and producers belong to a log that is no more, so it is not ready from then on, and
/// ends, to begin anew with the log that is there.
class LogIdWatch {
public:
    /// `log_id`: with which the process began. `end` is called once, and asks the process to stop.
    LogIdWatch(ops::Health& health, std::string log_id, std::function<void()> end)
        : health_(health), log_id_(std::move(log_id)), end_(std::move(end)) {}

    void look(const log::Control& control);
    /// The log is another one: the process ends, and must be started again. Any thread.
    bool is_another_log() const { return is_another_; }

private:
    ops::Health& health_;
    const std::string log_id_;
    const std::function<void()> end_;
    std::atomic<bool> is_another_ = false;
};

/// Reads `control` for the two. A chore.
class ControlWatch {
public:
    /// All outlive it. `log_id`: null where the log cannot be made anew under a process.
    ControlWatch(log::EventLog& log, KeyRingWatch& key_ring, LogIdWatch* log_id)
        : log_(log), key_ring_(key_ring), log_id_(log_id) {
        due_.in(kReadEvery);  // the start has just read it
    }
    void look();

private:
    static constexpr std::chrono::seconds kReadEvery{30};
    static constexpr std::chrono::seconds kAfterFailure{2};

    log::EventLog& log_;
    KeyRingWatch& key_ring_;
    LogIdWatch* const log_id_;
    Due due_;
};

}  // namespace beckon::app
