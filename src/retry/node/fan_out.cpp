#include "retry/node/fan_out.hpp"

#include <algorithm>
#include <utility>

namespace beckon::retry {

namespace {

void add_up(EventFanOut::Counts& sum, const EventFanOut::Counts& more) {
    sum.events += more.events;
    sum.copies += more.copies;
    sum.broken += more.broken;
    sum.deliveries += more.deliveries;
    sum.too_costly += more.too_costly;
    sum.filter_steps += more.filter_steps;
}

}  // namespace

FanOut::FanOut(Context context, Events events)
    : context_(std::move(context)),
      events_(std::move(events)),
      publisher_(context_.log.open_publisher(context_.executor)),
      directory_(SecretBox{context_.keys}),
      turns_(context_.executor, context_.costly),
      next_(static_cast<std::size_t>(context_.partitions)),
      lifetime_(context_.executor) {}

void FanOut::apply(core::Partition partition, const core::RecordView& record) {
    directory_.apply(record);
    has_read(partition, record.offset + 1);
}

void FanOut::clear_webhooks() {
    directory_.clear();
    next_.assign(next_.size(), 0);
}

void FanOut::has_read(core::Partition partition, core::Offset next) {
    auto& here = next_[static_cast<std::size_t>(partition)];
    here = std::max(here, next);
    const auto found = missing_.find(partition);
    if (found == missing_.end() || here < found->second) return;
    missing_.erase(found);
    if (missing_.empty()) read_on_soon();
}

/// A partition that this installation does not have is never read, and not waited for.
bool FanOut::has_all(const WebhooksChanged& changed) {
    bool all = true;
    for (const auto& [partition, below] : changed.below) {
        if (partition >= context_.partitions) continue;
        if (next_[static_cast<std::size_t>(partition)] >= below) continue;
        all = false;
        auto& missing = missing_[partition];
        missing = std::max(missing, below);
    }
    if (!all) catch_up_soon();
    return all;
}

/// Compaction may have removed the record that is waited for: a read barrier then proves that
/// nothing is missing.
void FanOut::catch_up_soon() {
    if (catches_up_) return;
    context_.executor.post_after(kCatchUpEvery, lifetime_.guard([this] {
        catches_up_ = false;
        for (const auto& [partition, below] : missing_) events_.catch_up(partition, below);
        if (!missing_.empty()) catch_up_soon();
    }));
    catches_up_ = true;
}

void FanOut::set_up_to_date(bool is) {
    up_to_date_ = is;
    turns_.set_paused(!is);
    if (is) read_on_soon();
}

bool FanOut::may_read(core::Partition partition) const {
    if (!up_to_date_) return false;
    if (on_trial_.empty()) return true;
    return on_trial_.front() == partition && others_have_all_matched(partition);
}

/// Events that the other partitions have read ahead may end the process too.
bool FanOut::others_have_all_matched(core::Partition partition) const {
    return std::all_of(
        event_fan_outs_.begin(), event_fan_outs_.end(), [partition](const auto& other) {
            return other.first == partition || other.second.event_fan_out->has_all_matched();
        });
}

void FanOut::start(core::Epoch epoch, EventFanOut::Options how) {
    const auto partition = how.partition;
    stop(partition);
    how.partitions = context_.partitions;
    if (how.careful) on_trial_.push_back(partition);
    if (how.careful && on_trial_.size() == 1) next_trial_soon();
    auto& running = event_fan_outs_[partition];
    running.epoch = epoch;
    running.event_fan_out =
        std::make_unique<EventFanOut>(std::move(how), context_.log, *publisher_, context_.executor,
                                      directory_, turns_, events_of(partition, epoch));
    running.event_fan_out->start();
}

EventFanOut::Events FanOut::events_of(core::Partition partition, core::Epoch epoch) {
    return {
        .fanned_out_up_to = [this, partition, epoch](
                                core::Offset next) { events_.done_up_to(partition, epoch, next); },
        .failed = [this, partition,
                   epoch](const core::Error& why) { events_.failed(partition, epoch, why); },
        .may_read = [this, partition] { return may_read(partition); },
        .has_read = [this](const WebhooksChanged& changed) { return has_all(changed); },
        .record = [this, partition,
                   epoch](const FanOutState& state) { events_.record(partition, epoch, state); },
        .trials_over = [this, partition] { trial_ends(partition); },
        .all_matched = [this] { let_trial_go_on(); }};
}

void FanOut::recorded(core::Partition partition, core::Epoch epoch) {
    const auto found = event_fan_outs_.find(partition);
    if (found != event_fan_outs_.end() && found->second.epoch == epoch) {
        found->second.event_fan_out->recorded();
    }
}

void FanOut::trial_ends(core::Partition partition) {
    if (std::erase(on_trial_, partition) == 0) return;
    next_trial_soon();
    read_on_soon();
}

/// A trial without the log's answer does not hold up the others.
void FanOut::next_trial_soon() {
    context_.executor.post_after(kTrialMost, lifetime_.guard([this, of = ++trial_] {
        if (of != trial_ || on_trial_.empty()) return;
        on_trial_.push_back(on_trial_.front());
        on_trial_.pop_front();
        next_trial_soon();
        read_on_soon();
    }));
}

/// It may have waited for events that another partition has read ahead.
void FanOut::let_trial_go_on() {
    if (!on_trial_.empty()) read_on_soon();
}

/// Not from within a call of an EventFanOut.
void FanOut::read_on_soon() {
    context_.executor.post(lifetime_.guard([this] {
        for (auto& [partition, running] : event_fan_outs_) running.event_fan_out->read_on();
    }));
}

void FanOut::stop(core::Partition partition) {
    const auto node = event_fan_outs_.extract(partition);
    if (!node.empty()) add_up(left_, node.mapped().event_fan_out->counts());
    trial_ends(partition);
    let_trial_go_on();
}

EventFanOut::Counts FanOut::counts() const {
    auto sum = left_;
    for (const auto& [partition, running] : event_fan_outs_)
        add_up(sum, running.event_fan_out->counts());
    return sum;
}

}  // namespace beckon::retry
