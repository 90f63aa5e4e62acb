#include "retry/event/event_reader.hpp"

#include "core/contain.hpp"
#include "core/logger.hpp"
#include "retry/event/event.hpp"

#include <utility>

namespace beckon::retry {

using core::Fault;

namespace {

/// The time that a read costs its owner's turn: that of opening a range, and of the bytes.
core::Duration cost_of(const EventPlace& place) {
    return std::chrono::microseconds{100 + place.bytes / 256};
}

/// The log does not have these offsets, and never will.
bool is_gone(const core::Error& why) {
    return why.fault == Fault::out_of_range || why.fault == Fault::not_found;
}

}  // namespace

void EventReader::read(const EventPlace& place, const std::string& owner, Done done) {
    auto& of = partitions_[place.partition];
    const Key key{place.offset, place.name};
    const auto [at, is_new] = of.wanted.try_emplace(key);
    at->second.dones.push_back(std::move(done));
    if (!is_new) return;
    at->second.place = place;
    of.line.add(owner, key);
    executor_.post(lifetime_.guard([this, p = place.partition] { begin_next(p); }));
}

/// What an earlier range has read with its own is passed over.
void EventReader::begin_next(core::Partition partition) {
    auto& of = partitions_.at(partition);
    while (!of.scan) {
        auto* const owner = of.line.next();
        if (!owner) return;
        const auto found = of.wanted.find(owner->works.front());
        const bool waits = found != of.wanted.end() && !found->second.begun;
        of.line.take(*owner, waits ? cost_of(found->second.place) : core::Duration{});
        if (waits) begin(partition, of, found->second.place.offset);
    }
}

void EventReader::begin(core::Partition partition, OfPartition& of, core::Offset from) {
    auto until = from;
    for (auto at = of.wanted.lower_bound({from, ""}); at != of.wanted.end(); ++at) {
        const auto offset = at->second.place.offset;
        if (offset >= from + kRangeMax) break;
        at->second.begun = true;
        until = offset + 1;
    }
    of.scan = std::make_unique<log::RangeScan>(
        log_, log::TopicPartition{log::Topic::kEvents, partition}, log::Range{from, until},
        executor_, [this, &of](const auto& record) { return take(of, record); },
        [this, partition](const auto& read) { ended(partition, read); });
}

log::Next EventReader::take(OfPartition& of, const core::RecordView& record) const {
    for (auto at = of.wanted.lower_bound({record.offset, ""});
         at != of.wanted.end() && at->second.place.offset == record.offset; ++at) {
        auto& one = at->second;
        auto event = decode_event_name(record);
        if (!one.begun || !event || event_name(scope_of(*event), event->id) != one.place.name) {
            continue;
        }
        one.owner = std::move(event->owner);
        one.text = std::make_shared<const std::string>(*record.value);
        cache_.put(one.place, one.owner, one.text);
    }
    return log::Next::go_on;
}

/// After an error what else waits for the partition has waited long enough.
void EventReader::ended(core::Partition partition, const core::Result<core::Offset>& read) {
    auto& of = partitions_.at(partition);
    of.scan.reset();  // first: a partition is read by one reader at a time
    const bool fails = !read && !is_gone(read.error());
    if (fails) {
        core::log_sparsely(core::LogLevel::warn, "retry", "events_not_read",
                           {{"partition", partition}, {"why", read.error().message}});
    }
    std::vector<Wanted> over;
    for (auto at = of.wanted.begin(); at != of.wanted.end();) {
        const auto here = at++;
        if (here->second.begun || fails)
            over.push_back(std::move(of.wanted.extract(here).mapped()));
    }
    begin_next(partition);
    const auto term = lifetime_.term();
    for (const auto& one : over) {
        const bool known = one.text || !fails;
        const auto answer = known ? core::Result<EventText>{one.text}
                                  : core::Result<EventText>{core::fail(read.error())};
        for (const auto& done : one.dones) {
            core::contain("retry events", [&] { done(answer); });
            if (term.over()) return;
        }
    }
}

}  // namespace beckon::retry
