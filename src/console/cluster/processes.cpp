#include "console/cluster/processes.hpp"

#include <algorithm>

namespace beckon::console {

namespace {

std::string key_of(const cluster::ProcessRecord& record) { return record.role + '/' + record.id; }

/// A process that was started again counts from zero.
std::map<std::string, double> rates_between(const Processes::Seen& before,
                                            const cluster::ProcessRecord& now,
                                            core::Duration time) {
    std::map<std::string, double> rates;
    if (time < Processes::kRateMin || before.record.started != now.started) return rates;
    const double seconds = std::chrono::duration<double>{time}.count();
    for (const auto& [name, value] : now.counters) {
        const auto was = before.record.counters.find(name);
        const double from = was == before.record.counters.end() ? 0 : was->second;
        rates[name] = std::max(0.0, value - from) / seconds;
    }
    return rates;
}

}  // namespace

Processes::Seen& Processes::take(const cluster::ProcessRecord& record, core::Timestamp heard) {
    auto& seen = seen_[key_of(record)];
    // By the clock of the process itself: it measures the time between its own two records best.
    seen.rates = rates_between(seen, record, record.at - seen.record.at);
    seen.record = record;
    seen.at = heard;
    return seen;
}

void Processes::apply(const core::RecordView& view, core::Timestamp heard) {
    const auto record = cluster::decode_process(view);
    if (!record) return;
    if (record->removed) {
        seen_.erase(key_of(*record));
        return;
    }
    auto& seen = take(*record, heard);
    seen.clock_off = record->at - view.time;
    seen.clock_known = true;
    if (seen_.size() <= kProcessesMax) return;
    seen_.erase(std::ranges::min_element(seen_, {}, [](const auto& one) { return one.second.at; }));
}

void Processes::tell(const cluster::ProcessRecord& record, core::Timestamp now) {
    take(record, now);
}

void Processes::forget(core::Timestamp now, core::Duration history_window) {
    std::map<std::string, core::Timestamp> newest;  // start, by role and address
    for (const auto& [key, seen] : seen_) {
        if (is_gone(seen, now)) continue;
        auto& started = newest[seen.record.role + '/' + seen.record.name];
        started = std::max(started, seen.record.started);
    }
    std::erase_if(seen_, [&](const auto& item) {
        const auto& [key, seen] = item;
        if (!is_gone(seen, now)) return false;
        const auto replaced = newest.find(seen.record.role + '/' + seen.record.name);
        return now - seen.at > history_window ||
               (replaced != newest.end() && replaced->second > seen.record.started);
    });
}

void Processes::skip_silence(core::Timestamp away, core::Timestamp back) {
    for (auto& [key, seen] : seen_) seen.at = is_gone(seen, away) ? seen.at + (back - away) : back;
}

const Processes::Seen* Processes::find(const std::string& role, const std::string& id) const {
    const auto known = seen_.find(role + '/' + id);
    return known == seen_.end() ? nullptr : &known->second;
}

}  // namespace beckon::console
