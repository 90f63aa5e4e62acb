#include "retry/node/partition_home.hpp"

#include "core/backoff.hpp"
#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "fold/topic_state.hpp"
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

struct PartitionHome::Impl {
    Impl(Options o, Context p, Events e)
        : options(std::move(o)), context(std::move(p)), events(std::move(e)) {}

    const Options options;
    const Context context;
    const Events events;

    std::unique_ptr<cluster::PartitionLease> lease;
    bool claimed = false;
    std::optional<DoneRecord> done;
    std::unique_ptr<PartitionTiers> tiers;
    std::unique_ptr<EventFanOut> fan_out;  ///< reports to the tiers
    EventFanOut::Counts fanned_out;        ///< of those before
    core::MonoTime took{};                 ///< when `tiers` were made
    core::Epoch epoch = 0;
    bool served = false;
    bool stopped = false;
    std::string fault;
    core::Backoff again{kStartAgain, kStartAgainMost};
    core::Lifetime life{context.executor};    ///< renewed by a new start: former steps are void
    std::unique_ptr<fold::TopicState> state;  ///< of `retry.done`; first to go: it calls us

    log::TopicPartition done_topic() const { return {Topic::kRetryDone, options.partition}; }
    void start();
    void end();
    void start_again(const core::Error& why);
    void start_again_soon(const core::Error& why);
    void read_anew();
    void state_changed();
    void read(const core::RecordView& record);
    void claim();
    void serve(core::Epoch of);
    void started();
    void begin_fan_out();
    void fan_out_from_recorded();
    void end_fan_out();
};

void PartitionHome::Impl::start() {
    end();
    if (stopped) return;
    lease = std::make_unique<cluster::PartitionLease>(
        options.partition, options.node, kHomeRole, context.publisher,
        cluster::PartitionLease::Events{
            // The lease is read from within the reader's call: the effects come after it.
            .serving =
                [this](core::Epoch of) {
                    context.executor.post(life.guard([this, of] { serve(of); }));
                },
            .lost = [this](const core::Error& why) { start_again_soon(why); }},
        cluster::PartitionLease::Topics{.claim = Topic::kRetryDone, .confirm = std::nullopt});
    state = std::make_unique<fold::TopicState>(
        fold::TopicState::Options{
            .folder = "retry", .inputs = {done_topic()}, .node = options.node},
        fold::TopicState::Context{context.log, &context.publisher, context.executor, context.clock},
        fold::TopicState::Events{.apply = [this](const auto&, const auto& record) { read(record); },
                                 .cleared = [this] { read_anew(); },
                                 .caught_up = [this] { claim(); },
                                 .changed = [this] { state_changed(); }});
    state->start();
}

void PartitionHome::Impl::end() {
    life.renew();
    state.reset();
    lease.reset();
    end_fan_out();
    tiers.reset();
    done.reset();
    claimed = false;
    if (std::exchange(served, false)) events.serving(false);
}

void PartitionHome::Impl::start_again(const core::Error& why) {
    end();
    fault = why.message;
    events.failed(fault);
    core::log_warn("retry", "home_starts_again",
                   {{"partition", options.partition}, {"why", why.message}});
    context.executor.post_after(again.pause(), life.guard([this] { start(); }));
}

/// Starts again from a later turn, since the part that failed is on the stack.
void PartitionHome::Impl::start_again_soon(const core::Error& why) {
    context.executor.post(life.guard([this, why] { start_again(why); }));
}

/// The log has removed records that this home had not read: its lease and the state of its tiers
/// are not certain any more.
void PartitionHome::Impl::read_anew() {
    done.reset();
    if (claimed) start_again_soon({Fault::out_of_range, "the log has lost records of retry.done"});
}

/// While it cannot read whether another node has taken the lease, it hands on nothing; what was
/// handed on goes on.
void PartitionHome::Impl::state_changed() {
    const auto why = state->fault();
    if (tiers) tiers->set_paused(!why.empty());
    if (why == fault || (why.empty() && !served)) return;
    fault = why;
    why.empty() ? events.serving(true) : events.failed(why);
}

void PartitionHome::Impl::read(const core::RecordView& record) {
    if (core::is_control_key(record.key)) {
        core::DecodeScratch scratch;
        const auto event = core::decode_notification(record, scratch);
        if (const auto* one = std::get_if<core::Lease>(&event)) {
            lease->read(Topic::kRetryDone, record.offset, *one);
        }
        return;
    }
    if (tiers) return;  // our own, or one that lost by its epoch
    auto one = decode_done(record);
    if (!one) {
        if (one.error().fault == Fault::corrupt) {
            core::log_sparsely(core::LogLevel::error, "retry", "broken_done_record",
                               {{"partition", options.partition}, {"offset", record.offset}});
        }
        return;
    }
    if (!done || one->epoch >= done->epoch) done = std::move(*one);
}

void PartitionHome::Impl::claim() {
    claimed = true;
    lease->claim(context.highest_epoch());
}

void PartitionHome::Impl::serve(core::Epoch of) {
    epoch = of;
    took = context.clock.mono();
    tiers = std::make_unique<PartitionTiers>(
        PartitionTiers::Options{.partition = options.partition,
                                .table = options.table,
                                .node = options.node,
                                .epoch = of,
                                .from = done,
                                .window_max = options.window_max},
        context.log, context.publisher, context.executor, context.clock,
        PartitionTiers::Events{
            .due = [this](Due due) { events.due(std::move(due)); },
            .started = [this] { started(); },
            .failed = [this](const core::Error& why) { start_again_soon(why); }});
    tiers->start();
}

void PartitionHome::Impl::started() {
    fault.clear();
    again.worked();
    served = true;
    events.serving(true);
    state_changed();  // it may have failed since the lease was read
    begin_fan_out();
    core::log_debug("retry", "serving", {{"partition", options.partition}, {"epoch", epoch}});
}

void PartitionHome::Impl::begin_fan_out() {
    if (!done) return fan_out_from_recorded();
    const log::TopicPartition where{Topic::kEvents, options.partition};
    log::until_known({life, context.executor}, context.log, where,
                     [this, where](const core::Result<log::Ends>& ends) {
                         if (!ends) return start_again(ends.error());
                         if (done->events_next > ends->end) {
                             report_made_anew(where, done->events_next, ends->end);
                             done->events_next = ends->start;
                         }
                         fan_out_from_recorded();
                     });
}

void PartitionHome::Impl::fan_out_from_recorded() {
    if (!served || stopped) return;
    fan_out = std::make_unique<EventFanOut>(
        EventFanOut::Options{.partition = options.partition,
                             .partitions = options.partitions,
                             .from = done ? done->events_next : 0},
        EventFanOut::Context{.log = context.log,
                             .publisher = context.publisher,
                             .executor = context.executor,
                             .webhooks = context.webhooks,
                             .turns = context.turns,
                             .cache = context.cache,
                             .journal = context.journal},
        EventFanOut::Events{
            .fanned_out_up_to = [this](core::Offset next) { tiers->fanned_out_up_to(next); },
            .failed = [this](const core::Error& why) { start_again_soon(why); },
            .may_read = events.may_read,
            .has_read = events.has_read});
    fan_out->start();
}

void PartitionHome::Impl::end_fan_out() {
    if (fan_out) fanned_out += fan_out->counts();
    fan_out.reset();
}

PartitionHome::PartitionHome(Options options, Context context, Events events)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(context), std::move(events))) {}

PartitionHome::~PartitionHome() {
    impl_->stopped = true;
    impl_->served = false;  // its owner needs no notification
    impl_->end();
}

void PartitionHome::start() { impl_->start(); }

PartitionTiers* PartitionHome::tiers(core::Epoch epoch) {
    return impl_->served && impl_->epoch == epoch ? impl_->tiers.get() : nullptr;
}

void PartitionHome::read_on() {
    if (impl_->fan_out) impl_->fan_out->read_on();
}

bool PartitionHome::serving() const { return impl_->served; }
const std::string& PartitionHome::fault() const { return impl_->fault; }

std::vector<TierState> PartitionHome::tier_states() const {
    return impl_->tiers ? impl_->tiers->states() : std::vector<TierState>{};
}

std::optional<core::Offset> PartitionHome::events_next() const {
    if (!impl_->served || !impl_->tiers) return std::nullopt;
    return impl_->tiers->events_next();
}

std::optional<fold::Restored> PartitionHome::taking_over() const {
    if (impl_->served || !impl_->tiers) return std::nullopt;
    const auto [read, left] = impl_->tiers->scanned();
    return fold::Restored{
        .folded = read, .left = left, .passed = impl_->context.clock.mono() - impl_->took};
}

PartitionTiers::Counts PartitionHome::counts() const {
    return impl_->tiers ? impl_->tiers->counts() : PartitionTiers::Counts{};
}

EventFanOut::Counts PartitionHome::event_counts() const {
    auto sum = impl_->fanned_out;
    if (impl_->fan_out) sum += impl_->fan_out->counts();
    return sum;
}

void PartitionHome::stop(std::function<void()> stopped) {
    impl_->stopped = true;
    impl_->end_fan_out();
    if (!impl_->tiers) return impl_->context.executor.post(std::move(stopped));
    impl_->tiers->stop(std::move(stopped));
}

}  // namespace beckon::retry
