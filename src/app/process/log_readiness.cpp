#include "app/process/log_readiness.hpp"

#include "core/logger.hpp"
#include "log/log_watch.hpp"
#include "net/io_loop.hpp"

#include <string_view>
#include <thread>

namespace beckon::app {

struct LogReadiness::Impl {
    Impl(log::EventLog& log, const core::Clock& clock, ops::Health& health)
        : watch({}, loop, clock, {.reach = log::ask_ends({log::Topic::kControl, 0}, log, loop)},
                [&health](std::string_view why) {
                    health.set_ready("log", why.empty(), why);
                    if (why.empty()) return core::log_info("app", "log_works_again", {});
                    core::log_error("app", "log_does_not_work", {{"why", why}});
                }) {
        thread = std::thread{[this] {
            watch.start();
            loop.run("log-watch");
        }};
    }
    ~Impl() {
        loop.stop();
        thread.join();
    }

    net::IoLoop loop;  ///< outlives all that may post to it
    log::LogWatch watch;
    std::thread thread;
};

LogReadiness::LogReadiness(log::EventLog& log, const core::Clock& clock, ops::Health& health)
    : impl_(std::make_unique<Impl>(log, clock, health)) {}

LogReadiness::~LogReadiness() = default;

}  // namespace beckon::app
