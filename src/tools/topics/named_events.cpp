#include "tools/topics/named_events.hpp"

#include "core/clock.hpp"
#include "log/read_partition.hpp"
#include "records/dead_letter.hpp"
#include "records/events.hpp"
#include "retry/event/event.hpp"

#include <algorithm>

namespace beckon::tools {

using log::Topic;
using log::TopicPartition;
using retry::Delivery;

namespace {

constexpr std::size_t kRewritesUnansweredMax = 1'000;

}  // namespace

core::Result<void> NamedEvents::add(TopicPartition where, log::Range range) {
    bool named = false;
    const auto sink = [&](const core::RecordView& record) {
        if (const auto settled = retry::decode_settled(record)) {
            auto& hop = settled_[settled->delivery];
            hop = std::max(hop, settled->hop);
        } else if (const auto delivery = retry::decode_delivery(record);
                   delivery && delivery->place) {
            named = true;
            places_.try_emplace(delivery->place->name);
        }
        return log::Next::go_on;
    };
    const auto read = log::read_range(log_, where, range, sink, timeout_);
    if (!read) return core::fail(read.error());
    if (named) ranges_.emplace(where, range);
    return {};
}

core::Result<void> NamedEvents::find(core::Partition partitions) {
    if (places_.empty()) return {};
    for (core::Partition p = 0; p < partitions; ++p) {
        const auto sink = [&](const core::RecordView& record) {
            const auto event = retry::decode_event_name(record);
            if (!event) return;
            const auto name = retry::event_name(retry::scope_of(*event), event->id);
            const auto found = places_.find(name);
            if (found == places_.end() || found->second) return;
            found->second = Place{p, record.offset};
        };
        const auto read = log::read_partition(log_, {Topic::kEvents, p}, sink, timeout_);
        if (!read) return read;
    }
    return {};
}

void NamedEvents::print(std::ostream& out) const {
    if (places_.empty()) return;
    const auto missing =
        std::ranges::count_if(places_, [](const auto& one) { return !one.second.has_value(); });
    out << "deliveries and dead letters that name " << places_.size()
        << (places_.size() == 1 ? " event by its offset" : " events by their offsets")
        << " are written anew";
    if (missing > 0) out << "; the copy does not have " << missing << " of these events";
    out << '\n';
}

core::Result<void> NamedEvents::rewrite() const {
    log::BlockingExecutor executor;
    const auto publisher = log_.open_publisher(executor);
    for (const auto& [where, range] : ranges_) {
        const auto written = rewrite(*publisher, executor, where, range);
        if (!written) return written;
    }
    return {};
}

/// The records that take the place of this one. One that cannot be read becomes the dead letter
/// that its home would make of it.
std::vector<std::pair<TopicPartition, core::Record>> NamedEvents::again(
    TopicPartition where, const core::RecordView& record) const {
    const bool letters = where.topic == Topic::kRetryDead;
    if (core::is_control_key(record.key)) return {};
    auto delivery = retry::decode_delivery(record);
    if (!delivery) {
        if (letters) return {};  // it stays
        return {{{Topic::kRetryDead, where.partition},
                 retry::encode_dead(retry::unreadable(where.topic.name(), where.partition, record,
                                                      delivery.error()))}};
    }
    if (letters) {
        const auto settled = settled_.find(delivery->id);
        if (settled != settled_.end() && settled->second >= delivery->hop) return {};
        if (!delivery->place) return {};
    }
    if (delivery->place) {
        const auto& found = places_.at(delivery->place->name);
        if (found) {
            delivery->place->partition = found->first;
            delivery->place->offset = found->second;
        }
    }
    ++delivery->hop;
    return {{where, letters ? retry::encode_dead(*delivery) : retry::encode(*delivery)}};
}

core::Result<void> NamedEvents::rewrite(log::Publisher& publisher, log::BlockingExecutor& executor,
                                        TopicPartition where, const log::Range& range) const {
    std::optional<core::Error> failed;
    const auto written = [&](std::size_t unanswered) -> core::Result<void> {
        const auto until = core::SystemClock{}.mono() + timeout_;
        if (!executor.wait_until([&] { return publisher.unanswered() <= unanswered; }, until)) {
            return core::fail(core::Fault::timed_out,
                              where.topic.name() + " was not written in time");
        }
        if (failed) return core::fail(*failed);
        return {};
    };
    auto going = core::Result<void>{};
    const auto sink = [&](const core::RecordView& record) {
        for (auto& [to, one] : again(where, record)) {
            publisher.publish(to, std::move(one), [&failed](const auto& at) {
                if (!at && !failed) failed = at.error();
            });
        }
        going = written(kRewritesUnansweredMax);
        return going ? log::Next::go_on : log::Next::stop;
    };
    const auto read = log::read_range(log_, where, range, sink, timeout_);
    if (!read) return core::fail(read.error());
    return going ? written(0) : going;
}

}  // namespace beckon::tools
