#include "tools/running/tool_log.hpp"

#include "app/installation/key_ring_guard.hpp"
#include "inspect/log/log_service.hpp"
#include "tools/running/running_log.hpp"

namespace beckon::tools {

namespace {

constexpr std::chrono::milliseconds kControlTimeout{10'000};

}  // namespace

bool is_served(const app::Config& config) {
    return !config.on_kafka() && app::DataDirectory::in_use(config.data);
}

ToolLog::ToolLog(app::Config& config) {
    if (is_served(config)) {
        running_ = open_running_log(config.ops, inspect::log_proof(*app::load_key_ring(config)));
    } else {
        installation_.emplace(config);
    }
}

const log::Control& ToolLog::control() {
    if (installation_) return installation_->control();
    if (!control_) {
        auto read = log::read_control(*running_, kControlTimeout);
        if (!read) throw app::StartupError("cannot read control: " + read.error().message);
        control_ = std::move(*read);
    }
    return *control_;
}

}  // namespace beckon::tools
