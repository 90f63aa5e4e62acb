#include "cli/process/key_ring_watch.hpp"

#include "core/logger.hpp"
#include "log/control.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <pthread.h>

namespace beckon::cli {

namespace {

constexpr std::chrono::seconds kReadRingEvery{30};
/// Short: a stop waits for it.
constexpr std::chrono::milliseconds kRingTimeout{1'000};
constexpr const char* kKeyRing = "key_ring";

}  // namespace

KeyRingWatch::KeyRingWatch(log::EventLog& log, std::shared_ptr<const core::KeyRing> ring,
                           ops::Health& health)
    : log_(log),
      ring_(std::move(ring)),
      health_(health),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void KeyRingWatch::run(const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "key-ring-watch");
    std::mutex mutex;
    std::condition_variable_any over;
    bool warned = false;
    for (;;) {
        {
            std::unique_lock lock{mutex};
            over.wait_for(lock, stop, kReadRingEvery, [] { return false; });
        }
        if (stop.stop_requested()) return;
        const auto control = log::read_control(log_, kRingTimeout);
        if (!control || !control->keyring_fingerprint) continue;  // another part says what is wrong
        const bool other = *control->keyring_fingerprint != ring_->fingerprint();
        if (std::exchange(warned, other) == other) continue;
        if (!other) {
            health_.set_warning(kKeyRing, "");
            continue;
        }
        const auto why = "the log names the key ring " + *control->keyring_fingerprint +
                         ", and this process has " + ring_->fingerprint() +
                         ": give it the installation's newest keys.json and restart it";
        health_.set_warning(kKeyRing, why);
        core::log_warn("cli", "key_ring_is_old", {{"why", why}});
    }
}

}  // namespace beckon::cli
