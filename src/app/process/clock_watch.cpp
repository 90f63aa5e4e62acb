#include "app/process/clock_watch.hpp"

#include "core/logger.hpp"
#include "core/pause.hpp"
#include "log/clock_ahead.hpp"
#include "ops/metric_names.hpp"

#include <chrono>

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
          do {
              if (const auto set_by = watch.poll()) {
                  core::log_warn("app", "clock_set",
                                 {{"seconds", std::chrono::duration<double>(*set_by).count()},
                                  {"note",
                                   "VAPID tokens are judged by this clock; messages expire by the "
                                   "log's time"}});
              }
          } while (core::pause(stop, kEvery));
      }) {}

std::string clock_warning(core::Duration ahead) {
    const auto seconds = std::chrono::round<std::chrono::seconds>(ahead);
    if (std::chrono::abs(seconds) < LogClockWatch::kTooFar) return {};
    return "this host's clock is " + std::to_string(std::chrono::abs(seconds).count()) + " s " +
           (seconds.count() > 0 ? "ahead of" : "behind") +
           " the log's time (on Kafka: the brokers' clock). One of the two is wrong. VAPID tokens "
           "are judged by the host's clock: if it is wrong, good senders get 401";
}

LogClockWatch::LogClockWatch(const log::EventLog& log, ops::Health& health, ops::Metrics& metrics)
    : thread_([&log, &health,
               &gauge = metrics.gauge(ops::metric::kClockAhead,
                                      "By how much the host's clock is ahead of the log's time "
                                      "(negative: behind), where one of them must be wrong.")](
                  const std::stop_token& stop) {
          pthread_setname_np(pthread_self(), "log-clock-watch");
          bool warned = false;
          do {
              const auto ahead = log::clock_ahead(log).value_or(core::Duration::zero());
              gauge.Set(std::chrono::duration<double>(ahead).count());
              const auto why = clock_warning(ahead);
              health.set_warning("clock", why);
              if (why.empty() == warned) {
                  warned = !warned;
                  if (warned) core::log_warn("app", "clock_wrong", {{"why", why}});
                  if (!warned) core::log_info("app", "clock_right_again", {});
              }
          } while (core::pause(stop, kEvery));
      }) {}

}  // namespace beckon::app
