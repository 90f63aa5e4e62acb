#include "retry/home/partition_home.hpp"

#include "core/logger.hpp"
#include "log/until.hpp"
#include "records/events.hpp"

#include <utility>
#include <variant>

namespace beckon::retry {

using core::Fault;
using log::Topic;

namespace {

constexpr const char* kHomeRole = "retry";

}  // namespace

PartitionHome::PartitionHome(core::Partition partition, Context context)
    : partition_(partition), context_(context), life_(home().executor) {}

PartitionHome::~PartitionHome() {
    stopped_ = true;
    served_ = false;  // its owner needs no notification
    end();
}

void PartitionHome::start() {
    end();
    if (stopped_) return;
    const auto& node = context_.options.node;
    lease_ = std::make_unique<cluster::PartitionLease>(
        partition_, node, kHomeRole, home().publisher,
        cluster::PartitionLease::Events{
            // The lease is read from within the reader's call: the effects come after it.
            .serving =
                [this](core::Epoch of) {
                    home().executor.post(life_.guard([this, of] { serve(of); }));
                },
            .lost = [this](const core::Error& why) { start_again_soon(why); }},
        cluster::PartitionLease::Topics{.claim = Topic::kRetryDone, .confirm = std::nullopt});
    state_ = std::make_unique<fold::TopicState>(
        fold::TopicState::Options{
            .folder = "retry", .inputs = {at(Topic::kRetryDone)}, .node = node},
        fold::TopicState::Context{home().log, &home().publisher, home().executor, home().clock},
        fold::TopicState::Events{.apply = [this](const auto&, const auto& record) { read(record); },
                                 .cleared = [this] { read_anew(); },
                                 .caught_up =
                                     [this] {
                                         claimed_ = true;
                                         lease_->claim(context_.events.highest_epoch(partition_));
                                     },
                                 .changed = [this] { state_changed(); }});
    state_->start();
}

void PartitionHome::end() {
    life_.renew();
    state_.reset();
    lease_.reset();
    fan_out_.reset();
    tiers_.reset();
    done_.reset();
    claimed_ = false;
    if (!std::exchange(served_, false)) return;
    context_.events.ended(partition_);
    report(false);
}

void PartitionHome::start_again(const core::Error& why) {
    end();
    fault_ = why.message;
    report(false);
    core::log_warn("retry", "home_starts_again", {{"partition", partition_}, {"why", why.message}});
    home().executor.post_after(again_.pause(), life_.guard([this] { start(); }));
}

/// Starts again from a later turn, since the part that failed is on the stack.
void PartitionHome::start_again_soon(const core::Error& why) {
    home().executor.post(life_.guard([this, why] { start_again(why); }));
}

/// The log has removed records that this home had not read: its lease and the state of its tiers
/// are not certain any more.
void PartitionHome::read_anew() {
    done_.reset();
    if (claimed_) start_again_soon({Fault::out_of_range, "the log has lost records of retry.done"});
}

/// While it cannot read whether another node has taken the lease, it hands on nothing; what was
/// handed on goes on.
void PartitionHome::state_changed() {
    const auto why = state_->fault();
    if (tiers_) tiers_->set_paused(!why.empty());
    if (why == fault_ || (why.empty() && !served_)) return;
    fault_ = why;
    report(why.empty());
}

void PartitionHome::read(const core::RecordView& record) {
    if (core::is_control_key(record.key)) {
        core::DecodeScratch scratch;
        const auto event = core::decode_notification(record, scratch);
        if (const auto* one = std::get_if<core::Lease>(&event)) {
            lease_->read(Topic::kRetryDone, *one);
        }
        return;
    }
    if (tiers_) return;  // our own, or one that lost by its epoch
    auto one = decode_done(record);
    if (!one) {
        if (one.error().fault == Fault::corrupt) {
            core::log_sparsely(core::LogLevel::error, "retry", "broken_done_record",
                               {{"partition", partition_}, {"offset", record.offset}});
        }
        return;
    }
    if (!done_ || one->epoch >= done_->epoch) done_ = std::move(*one);
}

void PartitionHome::serve(core::Epoch epoch) {
    epoch_ = epoch;
    took_ = home().clock.mono();
    tiers_ = std::make_unique<PartitionTiers>(
        PartitionTiers::Options{.partition = partition_,
                                .table = context_.options.table,
                                .node = context_.options.node,
                                .epoch = epoch,
                                .from = done_,
                                .window_max = context_.options.schedule.queued_max},
        home(),
        PartitionTiers::Events{
            .due = context_.events.due,
            .started = [this] { started(); },
            .failed = [this](const core::Error& why) { start_again_soon(why); }});
    tiers_->start();
}

void PartitionHome::started() {
    fault_.clear();
    again_.worked();
    served_ = true;
    report(true);
    state_changed();  // it may have failed since the lease was read
    begin_fan_out();
    core::log_debug("retry", "serving", {{"partition", partition_}, {"epoch", epoch_}});
}

void PartitionHome::begin_fan_out() {
    if (!done_) return fan_out_from_recorded();
    const auto where = at(Topic::kEvents);
    log::until_known({life_, home().executor}, home().log, where,
                     [this, where](const core::Result<log::Ends>& ends) {
                         if (!ends) return start_again(ends.error());
                         if (done_->events_next > ends->end) {
                             report_made_anew(where, done_->events_next, ends->end);
                             done_->events_next = ends->start;
                         }
                         fan_out_from_recorded();
                     });
}

void PartitionHome::fan_out_from_recorded() {
    if (!served_ || stopped_) return;
    fan_out_ = std::make_unique<EventFanOut>(
        EventFanOut::Options{.partition = partition_,
                             .partitions = context_.options.partitions,
                             .from = done_ ? done_->events_next : 0},
        context_.fan_out,
        EventFanOut::Events{.fanned_out_up_to =
                                [this](core::Offset next) {
                                    tiers_->fanned_out_up_to(next);
                                    context_.events.fanned_out_up_to(partition_, next);
                                },
                            .failed = [this](const core::Error& why) { start_again_soon(why); }});
    fan_out_->start();
}

void PartitionHome::read_on() {
    if (fan_out_) fan_out_->read_on();
}

std::optional<fold::Restored> PartitionHome::taking_over() const {
    if (served_ || !tiers_) return std::nullopt;
    const auto [read, left] = tiers_->scanned();
    return fold::Restored{.folded = read, .left = left, .passed = home().clock.mono() - took_};
}

void PartitionHome::stop(std::function<void()> stopped) {
    stopped_ = true;
    fan_out_.reset();
    if (!tiers_) return home().executor.post(std::move(stopped));
    tiers_->stop(std::move(stopped));
}

}  // namespace beckon::retry
