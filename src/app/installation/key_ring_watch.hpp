#pragma once

#include "app/config/config.hpp"
#include "core/key_ring.hpp"
#include "log/event_log.hpp"
#include "ops/health.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace beckon::app {

/// Rotates the key ring of a running process without a moment in which one process refuses
/// another's tokens. The process reads new keys from the file at SIGHUP, or when the log names a
/// ring that it does not have. A key encrypts once the log names its ring. The operator publishes
/// that (`beckon keys publish`) when every process has read the key; where there is only one
/// process, it publishes by itself.
///
/// It reads the log every half minute and after each SIGHUP, on a thread of its own
/// ("key-ring-watch"). /ready warns while keys wait to be published, and while the log names a ring
/// that the file does not have.
class KeyRingWatch {
public:
    /// The publisher of new keys: the operator, or this process if it is the only one.
    enum class Publishes : std::uint8_t { operator_does, this_process };

    /// All outlive it but `config`. Components share `ring`, which grows.
    KeyRingWatch(log::EventLog& log, Config config, core::KeyRing& ring, ops::Health& health,
                 Publishes publishes);
    ~KeyRingWatch();
    KeyRingWatch(const KeyRingWatch&) = delete;
    KeyRingWatch& operator=(const KeyRingWatch&) = delete;

    /// SIGHUP: reads the file again. A file that cannot be read, or that lacks keys of the ring in
    /// use, changes nothing but a warning. Any thread.
    void reread();
    /// Somebody has brought what a key made that this process lacks, as a tool does with a file
    /// that was rotated: reads the file again soon, at most once in kMissingEvery. Any thread.
    void key_missing();

private:
    static constexpr std::chrono::seconds kMissingEvery{5};

    void run(const std::stop_token& stop);
    void compare_with_log();
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
    std::mutex mutex_;
    std::condition_variable_any wake_;
    bool wanted_ = false;                                          ///< under mutex_, as is the next
    bool asked_ = false;                                           ///< by SIGHUP, not by the log
    std::optional<std::chrono::steady_clock::time_point> missed_;  ///< under mutex_
    std::string warned_;                                           ///< of the thread
    std::jthread thread_;
};

}  // namespace beckon::app
