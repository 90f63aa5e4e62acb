#include "retry/event/waiting_events.hpp"

#include <algorithm>

namespace beckon::retry {

namespace {

/// An owner's share of what is free, as in FanOutTurns.
constexpr std::size_t kWaitingFraction = 1;

}  // namespace

bool WaitingEvents::has_space(core::Partition partition, const std::string& owner) const {
    const auto& here = of(partition);
    const auto found = here.owners.find(owner);
    const auto held = found == here.owners.end() ? Held{} : found->second;
    return held.events < here.events.share(kWaitingFraction) &&
           held.bytes < here.bytes.share(kWaitingFraction);
}

void WaitingEvents::post(const Posted& event) {
    auto& here = of(event.partition);
    auto& held = here.owners[event.owner];
    ++held.events;
    held.bytes += event.bytes;
    here.events.take(1);
    here.bytes.take(event.bytes);
}

void WaitingEvents::appended(const Posted& event, core::Offset at) {
    auto& here = of(event.partition);
    if (at < here.fanned_out) return failed(event);  // the log's report comes late
    here.in_log.emplace(at, event);
}

void WaitingEvents::failed(const Posted& event) {
    auto& here = of(event.partition);
    here.events.give_back(1);
    here.bytes.give_back(event.bytes);
    const auto found = here.owners.find(event.owner);
    if (found == here.owners.end()) return;
    found->second.bytes -= event.bytes;
    if (--found->second.events == 0) here.owners.erase(found);
}

void WaitingEvents::fanned_out(core::Partition partition, core::Offset next) {
    auto& here = of(partition);
    here.fanned_out = std::max(here.fanned_out, next);
    while (!here.in_log.empty() && here.in_log.begin()->first < next) {
        const auto done = here.in_log.extract(here.in_log.begin());
        failed(done.mapped());
    }
}

}  // namespace beckon::retry
