#include "app/process/clock_watch.hpp"

#include "core/logger.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include <pthread.h>

namespace beckon::app {

std::optional<core::Duration> ClockWatch::poll() {
    const auto before = clock_.mono();
    const core::Duration wall = clock_.wall().time_since_epoch();
    if (clock_.mono() - before > kOneMoment) return std::nullopt;
    const auto offset = wall - before.time_since_epoch();
    if (!offset_) offset_ = offset;
    const auto set_by = offset - *offset_;
    offset_ = offset;
    if (std::chrono::abs(set_by) < kWorthALine) return std::nullopt;
    return set_by;
}

ClockWatcher::ClockWatcher(const core::Clock& clock)
    : thread_([&clock](const std::stop_token& stop) {
          pthread_setname_np(pthread_self(), "clock-watch");
          ClockWatch watch{clock};
          std::mutex mutex;
          std::condition_variable_any over;
          std::unique_lock lock{mutex};
          while (!stop.stop_requested()) {
              if (const auto set_by = watch.poll()) {
                  core::log_warn("cli", "clock_set",
                                 {{"seconds", std::chrono::duration<double>(*set_by).count()},
                                  {"note",
                                   "VAPID tokens are judged by this clock; messages expire by the "
                                   "log's time"}});
              }
              over.wait_for(lock, stop, kEvery, [] { return false; });
          }
      }) {}

}  // namespace beckon::app
