#include "app/installation/log_id_watch.hpp"

#include "core/logger.hpp"
#include "core/pause.hpp"
#include "log/control.hpp"

#include <utility>

#include <pthread.h>

namespace beckon::app {

namespace {

/// Short: a stop waits for it.
constexpr std::chrono::milliseconds kReadIdTimeout{1'000};

}  // namespace

LogIdWatch::LogIdWatch(log::EventLog& log, ops::Health& health, Options options,
                       std::function<void()> end)
    : log_(log),
      health_(health),
      options_(std::move(options)),
      end_(std::move(end)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void LogIdWatch::run(const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "log-id-watch");
    auto pause = options_.every;
    while (core::pause(stop, pause)) {
        const auto control = log::read_control(log_, kReadIdTimeout);
        pause = control ? options_.every : options_.after_failure;
        if (control && has_changed(control->log_id)) return;
    }
}

bool LogIdWatch::has_changed(const std::string& named) {
    if (named == options_.log_id) return false;
    const auto why = "the topic control names the log " + named +
                     ", and this process began with the log " + options_.log_id +
                     ": the log topics were made anew. This process ends; start it again";
    is_another_ = true;
    health_.set_ready("log_id", false, why);
    core::log_error("app", "log_is_another", {{"why", why}});
    end_();
    return true;
}

}  // namespace beckon::app
