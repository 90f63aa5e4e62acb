#pragma once

#include "core/key_ring.hpp"
#include "log/event_log.hpp"
#include "ops/health.hpp"

#include <memory>
#include <thread>

namespace beckon::cli {

/// After `beckon keys rotate` the log names a ring that a process has only once it was started
/// again: until then it calls URLs foreign that others made with the new key. This looks every half
/// minute, on a thread of its own ("key-ring-watch"), and warns at /ready as long as it is so.
class KeyRingWatch {
public:
    /// `log` and `health` outlive it.
    KeyRingWatch(log::EventLog& log, std::shared_ptr<const core::KeyRing> ring,
                 ops::Health& health);
    KeyRingWatch(const KeyRingWatch&) = delete;
    KeyRingWatch& operator=(const KeyRingWatch&) = delete;

private:
    void run(const std::stop_token& stop);

    log::EventLog& log_;
    const std::shared_ptr<const core::KeyRing> ring_;
    ops::Health& health_;
    std::jthread thread_;
};

}  // namespace beckon::cli
