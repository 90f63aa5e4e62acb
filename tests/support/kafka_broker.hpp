#pragma once

#include "support/temp_dir.hpp"

#include <chrono>
#include <string>

#include <sys/types.h>

namespace beckon::test {

/// One real Kafka broker on loopback with an empty directory of its own, for one test binary; about
/// 2 s to start (scripts/kafka/start.sh). It ends with this object, and with this process even if
/// that is killed. Used by one thread, which outlives it.
class KafkaBroker {
public:
    /// Starts it and waits until it answers. Throws std::runtime_error with the broker's own last
    /// lines.
    KafkaBroker();
    ~KafkaBroker();
    KafkaBroker(const KafkaBroker&) = delete;
    KafkaBroker& operator=(const KafkaBroker&) = delete;

    /// "127.0.0.1:<port>"; the same after a restart.
    std::string servers() const;

    /// SIGKILL; returns when it is gone.
    void kill();
    /// Starts a killed broker on the same data and port. With `wait` until it answers.
    void restart();
    void restart_without_waiting();
    /// Blocks until the broker answers and has taken itself back into service.
    void await_answer(std::chrono::seconds limit = std::chrono::seconds{120});

    /// Freezes all its threads (SIGSTOP), and returns when they stand: connections stay and nothing
    /// answers.
    void pause();
    void resume();

    /// The one broker of a test binary, started at its first use.
    static KafkaBroker& shared();

private:
    void choose_ports();
    void spawn();
    bool exited();
    bool answers() const;
    std::string last_lines() const;

    TempDir directory_;
    int port_ = 0;
    int controller_port_ = 0;
    pid_t pid_ = -1;  ///< leader of a process group of its own; -1: not running
};

}  // namespace beckon::test
