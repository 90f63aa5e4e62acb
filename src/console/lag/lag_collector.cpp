#include "console/lag/lag_collector.hpp"

#include "core/logger.hpp"
#include "core/pause.hpp"

#include <utility>

#include <pthread.h>

namespace beckon::console {

LagPagePtr poll(LagTable& table, log::Groups& groups, const core::Clock& clock,
                const std::stop_token& stop) {
    const auto page = std::make_shared<LagPage>();
    const auto began = clock.mono();
    auto snapshot = groups.poll(stop);
    page->at = clock.wall();
    if (snapshot) {
        table.update(std::move(*snapshot), page->at);
        for (const auto& probe : table.wanted(LagCollector::kProbesMax)) {
            const auto appended = groups.append_time(probe.where, probe.offset, stop);
            if (appended && *appended) table.learn(probe, **appended);
        }
        page->rows = table.rows();
        page->problems = table.problems();
    } else {
        page->problems.push_back(snapshot.error().message);
    }
    page->took = std::chrono::floor<std::chrono::milliseconds>(clock.mono() - began);
    return page;
}

LagCollector::LagCollector(Context context, std::function<void(const LagPagePtr&)> polled)
    : context_(std::move(context)),
      polled_(std::move(polled)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

LagCollector::~LagCollector() {
    thread_.request_stop();
    thread_.join();
}

void LagCollector::run(const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "console-lag");
    LagTable table{context_.table};
    bool well = true;
    while (!stop.stop_requested()) {
        const auto page = poll(table, context_.groups, context_.clock, stop);
        if (stop.stop_requested()) return;
        const bool failed = page->rows.empty() && !page->problems.empty();
        if (failed && well) {
            core::log_warn("console", "lag_unknown", {{"why", page->problems.front()}});
        }
        well = !failed;
        polled_(page);
        core::pause(stop, kEvery);
    }
}

}  // namespace beckon::console
