#include "app/process/log_readiness.hpp"

#include "core/logger.hpp"

#include <string_view>

namespace beckon::app {

LogReadiness::LogReadiness(log::EventLog& log, const core::Clock& clock, ops::Health& health)
    : thread_("log-watch", clock),
      watch_({}, thread_.loop(), clock,
             {.reach = log::ask_ends({log::Topic::kControl, 0}, log, thread_.loop())},
             [&health](std::string_view why) {
                 health.set_ready("log", why.empty(), why);
                 if (why.empty()) return core::log_info("app", "log_works_again", {});
                 core::log_error("app", "log_does_not_work", {{"why", why}});
             }) {
    thread_.start([this] {
        watch_.start();
        thread_.run();
    });
}

}  // namespace beckon::app
