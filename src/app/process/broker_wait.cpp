#include "app/process/broker_wait.hpp"

#include "app/process/process.hpp"
#include "core/logger.hpp"

#include <utility>

namespace beckon::app {

namespace {

constexpr std::chrono::milliseconds kAskAgain{200};
constexpr std::chrono::seconds kLineInterval{5};

}  // namespace

using std::chrono::steady_clock;

BrokerWait::BrokerWait(const Config& config, Pause pause)
    : config_(config),
      pause_(std::move(pause)),
      until_(steady_clock::now() + config.startup_timeout) {}

void BrokerWait::pause_after(const core::Error& why) {
    if (!why.retryable()) throw StartupError(why.message);
    const auto& servers = config_.kafka.bootstrap_servers;
    const auto now = steady_clock::now();
    if (now >= until_) {
        throw StartupError("no broker at " + servers + " within " +
                           duration_text(config_.startup_timeout) + ": " + why.message);
    }
    if (now >= next_line_) {
        next_line_ = now + kLineInterval;
        core::log_warn("app", "waiting_for_broker", {{"servers", servers}, {"why", why.message}});
    }
    pause_(kAskAgain);
}

}  // namespace beckon::app
