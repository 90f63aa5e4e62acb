#include "retry/role/retry_node.hpp"

#include "core/logger.hpp"
#include "fold/restored.hpp"
#include "log/checked_publisher.hpp"
#include "log/until.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace beckon::retry {

using core::Fault;
using log::Topic;

namespace {

constexpr const char* kRole = "retry";
constexpr core::Duration kLeaveAgain = std::chrono::seconds{1};

/// Decodes the record of an owner's request again before the log takes it: what is accepted can be
/// read later. Errors: too_large (an event), invalid (why it cannot be read).
core::Result<void> check_written(const log::TopicPartition& where, const core::RecordView& record,
                                 const SecretBox& box) {
    const auto readable = [](const auto& decoded) -> core::Result<void> {
        if (decoded) return {};
        return core::fail(Fault::invalid,
                          "its record could not be read again: " + decoded.error().message);
    };
    if (!record.value) return {};
    if (where.topic == Topic::kEvents) {
        if (!is_event(record)) return readable(decode_webhooks_changed(record));
        if (record.value->size() <= kEventBytesMax) return readable(decode_event(record));
        return core::fail(Fault::too_large,
                          "an event may have 262144 bytes, with beckonowner and data as they are "
                          "kept");
    }
    if (where.topic != Topic::kWebhooks) return {};
    if (record.key.ends_with("/state")) return readable(decode_webhook_state(record));
    const bool webhook = record.key.find('/') == std::string_view::npos;
    return webhook ? readable(decode_webhook(record, box)) : core::Result<void>{};
}

}  // namespace

RetryNode::RetryNode(Options options, Context context)
    : options_(std::move(options)),
      context_(std::move(context)),
      publisher_(std::make_unique<log::CheckedPublisher>(
          context_.log.open_publisher(context_.executor), context_.executor,
          [this](const auto& where, const auto& record) {
              return check_written(where, record, known_.webhooks().box());
          })),
      known_({.partitions = partitions(),
              .node = options_.deliveries.node,
              .dead_letters_max = options_.dead_letters_max},
             {context_.log, *publisher_, context_.executor, context_.clock, context_.keys},
             events_of_state()),
      latest_(context_.threads.size()),
      shared_(std::make_shared<std::vector<Shared>>(static_cast<std::size_t>(partitions()))) {
    for (const auto& thread : context_.threads) shards_.emplace_back(thread.executor);
}

/// Each shard ends on its thread, which still runs.
RetryNode::~RetryNode() {
    lifetime_.end();
    cluster_.reset();
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        const bool here = &context_.threads[i].executor == &context_.executor;
        context_.one_thread || here ? shards_[i].end_here() : shards_[i].end();
    }
}

void RetryNode::start() {
    for (std::size_t i = 0; i < shards_.size(); ++i) begin_shard(i);
    known_.start();
    cluster_ = std::make_unique<cluster::Cluster>(
        cluster::ClusterOptions{.role = kRole,
                                .self = options_.deliveries.node,
                                .name = options_.node_name,
                                .partitions = partitions(),
                                .link_url = "",
                                .standby_count = 0},
        context_.log, context_.executor, context_.clock,
        cluster::Cluster::Events{
            .placed = [this](core::Partition p, const auto& placement) { placed(p, placement); }});
    hand_over_soon();
}

void RetryNode::begin_shard(std::size_t index) {
    shards_[index].begin([options = options_.deliveries,
                          given = DeliveryShard::Context{.log = context_.log,
                                                         .clock = context_.clock,
                                                         .keys = context_.keys,
                                                         .cache = cache_,
                                                         .proven = proven_,
                                                         .observer = context_.observer,
                                                         .milestones = context_.milestones},
                          thread = context_.threads[index], events = events_of_shard(index)] {
        return std::make_unique<DeliveryShard>(options, given, thread, events);
    });
}

/// Called on the shard's thread: they post.
DeliveryShard::Events RetryNode::events_of_shard(std::size_t index) {
    return {
        .serving = here([this](core::Partition p, bool serves, const std::string& fault) {
            serving(p, serves, fault);
        }),
        .fanned_out_up_to =
            [shared = shared_](core::Partition p, core::Offset next) {
                (*shared)[static_cast<std::size_t>(p)].fanned_out = next;
            },
        .change_state = here(
            [this](const std::string& id, const WebhookState& state) { change_state(id, state); }),
        .catch_up = here([this, index](core::Partition p, const std::function<void(bool)>& done) {
            known_.confirm(p, [this, index, done](const core::Result<void>& passed) {
                shards_[index].use([done, all = passed.has_value()](auto&) { done(all); });
            });
        }),
        .attempted =
            [this, remote = lifetime_.remote()](const std::string& id, const Attempt& attempt) {
                if (!first_attempts_.any()) return;
                remote.post([this, id, attempt] { first_attempts_.attempted(id, attempt); });
            },
        .highest_epoch =
            [shared = shared_](core::Partition p) {
                return (*shared)[static_cast<std::size_t>(p)].highest_epoch.load();
            }};
}

NodeState::Events RetryNode::events_of_state() {
    return {.webhook_read = [this](core::Partition p, const auto& record) { pass_on(p, record); },
            // All copies are read anew.
            .webhooks_cleared = [this] { each_shard([](auto& one) { one.clear_webhooks(); }); },
            .webhooks_known = [this] { webhooks_known(); },
            .webhooks_changed = [this] { webhooks_changed(); },
            .changed = [this] { report_ready(); }};
}

bool RetryNode::serves(core::Partition partition) const {
    const auto found = homes_.find(partition);
    return found != homes_.end() && found->second.serving;
}

/// To all copies, in one order; without the headers, which a directory does not read.
void RetryNode::pass_on(core::Partition partition, const core::RecordView& record) {
    const auto copy_of = [](std::string_view text) {
        return std::make_shared<const std::string>(text);
    };
    each_shard([partition, offset = record.offset, time = record.time, key = copy_of(record.key),
                value = record.value ? copy_of(*record.value) : nullptr](auto& one) {
        core::RecordView read;
        read.offset = offset;
        read.time = time;
        read.key = *key;
        if (value) read.value = *value;
        one.apply(partition, read);
    });
    const auto id = record.key.substr(0, record.key.find('/'));
    if (known_.webhooks().without_webhook().contains(id)) remove_left(partition);
}

/// Removes what is left in the log of deleted webhooks: records whose writer did not know yet that
/// the webhook was deleted would stay there, since it is compacted, and in every fold of it.
///
/// That the webhook is not known proves nothing by itself: compaction may have kept a later record
/// of it. So it must still be missing when a read barrier has passed that was written after the
/// record was read. Nothing is removed by a process that could not decode a record: it may be the
/// webhook's. The home does it, so that one node does, but for a moment of a take-over. A write
/// that fails is tried again when the next such record is read, or a home begins to serve.
void RetryNode::remove_left(core::Partition partition) {
    if (known_.webhooks().without_webhook().empty() || !known_.knows_webhooks()) return;
    if (!serves(partition) || !removing_.insert(partition).second) return;
    known_.confirm(partition, lifetime_.guard([this, partition](const core::Result<void>& passed) {
        removing_.erase(partition);
        const auto& webhooks = known_.webhooks();
        if (!passed || webhooks.broken() > 0 || !serves(partition)) return;
        const log::TopicPartition where{Topic::kWebhooks, partition};
        std::size_t removed = 0;
        for (const auto& id : webhooks.without_webhook()) {
            if (core::partition_of(id, partitions()) != partition) continue;
            const bool last = ++removed == kLeftAtOnceMost;
            publish(where, encode_state_removed(id), [](const auto&) {});
            publish(where, encode_filter_removed(id),
                    lifetime_.guard([this, partition, last](const auto& written) {
                        if (written && last) remove_left(partition);
                    }));
            if (last) return;
        }
    }));
}

/// From here on this node can serve any partition: waiting deliveries are in the log. The
/// controller moves partitions to a node that reports this.
void RetryNode::webhooks_known() {
    if (resender_) return;  // they were read anew
    resender_ = std::make_unique<Resender>(Resender::Context{
        context_.log, *publisher_, context_.executor, event_reader_, known_.dead_letters()});
    known_.start_dead_letters();
    std::set<core::Partition> all;
    for (core::Partition p = 0; p < partitions(); ++p) all.insert(p);
    cluster_->set_ready(all);
    each_shard([](auto& one) { one.webhooks_known(); });
    report_ready();
}

/// While the webhooks cannot be read, events wait: a webhook that is not known here would miss
/// them.
void RetryNode::webhooks_changed() {
    report_ready();
    each_shard([is = known_.knows_webhooks()](auto& one) { one.set_up_to_date(is); });
    for (const auto& [partition, home] : homes_) remove_left(partition);
}

void RetryNode::placed(core::Partition partition, const cluster::Placement& placement) {
    if (stopping_) return;
    note_epochs();
    const auto& shard = shard_of(partition);
    if (placement.home == options_.deliveries.node) {
        placed_elsewhere_.erase(partition);
        homes_.try_emplace(partition);
        shard.use([partition](auto& one) { one.open(partition); });
        return;
    }
    placed_elsewhere_.insert(partition);
    if (homes_.erase(partition) > 0) {
        shard.use([partition](auto& one) { one.close(partition); });
    }
    report_ready();
}

void RetryNode::note_epochs() {
    for (core::Partition p = 0; p < partitions(); ++p) {
        shared(p).highest_epoch = cluster_->highest_epoch(p);
    }
}

void RetryNode::serving(core::Partition partition, bool serves, const std::string& fault) {
    const auto found = homes_.find(partition);
    if (found == homes_.end()) return;  // it went elsewhere meanwhile
    found->second = {serves, fault};
    remove_left(partition);
    report_ready();
}

/// Hands over once no attempt of a webhook with the usual time-out can start any more.
void RetryNode::hand_over_soon() {
    if (!options_.deliveries.stop_at) return;
    const auto at = *options_.deliveries.stop_at - Webhook{}.timeout - AttemptQueue::kOverhead;
    context_.executor.post_after(std::max<core::Duration>(at - context_.clock.mono(), kLeaveAgain),
                                 lifetime_.guard([this] { hand_over_all(); }));
}

/// Hands all partitions over to other nodes, if there are any; else it goes on attempting while
/// there is time. Attempts under way have `drain` to end, so that few are made twice.
void RetryNode::hand_over_all() {
    if (stopping_ || leaving_) return;
    if (!cluster_->may_leave()) return hand_over_soon();
    leaving_ = true;
    const auto go_on = after(shards_.size(), [this] { leave(); });
    each_shard([go_on](auto& one) { one.drain(go_on); });
    context_.executor.post_after(options_.drain, lifetime_.guard([this] { leave(); }));
}

void RetryNode::leave() {
    if (stopping_ || !std::exchange(leaving_, false)) return;
    if (cluster_->leave()) {
        core::log_info("retry", "partitions_handed_over", {{"why", "the run ends soon"}});
        return;
    }
    each_shard([](auto& one) { one.resume(); });
    hand_over_soon();
}

void RetryNode::report_ready() {
    std::string why;
    std::optional<fold::Restored> taken;
    for (const auto& counts : latest_) taken += counts.taking_over;
    for (const auto& [partition, home] : homes_) {
        if (home.serving) continue;
        why = "partition " + std::to_string(partition) + ": " +
              (home.fault.empty() ? "being taken over" : home.fault);
        if (home.fault.empty() && taken) why += ": " + fold::to_string(*taken);
    }
    if (homes_.size() + placed_elsewhere_.size() < static_cast<std::size_t>(partitions())) {
        why = "waits for its place in the cluster";
    }
    if (auto unread = known_.why_not_current(); !unread.empty()) why = std::move(unread);
    context_.ready(why.empty(), why);
}

/// A state that attempts have led to. At most one of each webhook waits for its turn: the last one,
/// or one that disables the webhook.
void RetryNode::change_state(const std::string& id, const WebhookState& state) {
    const auto [waiting, first] = judged_.try_emplace(id, state);
    if (first) {
        return change_turns_.take(id, [this, id](const auto& turn) { write_judged(id, turn); });
    }
    if (waiting->second.enabled) waiting->second = state;
}

/// Whether attempts led to a state before the webhook was deleted, disabled, or enabled anew.
bool RetryNode::is_past(const std::string& id, const WebhookState& state) const {
    const auto* entry = known_.webhooks().find(id);
    return !entry || !entry->state.enabled || entry->state.enabled_at != state.enabled_at;
}

void RetryNode::write_judged(const std::string& id, const ChangeTurns::Turn& turn) {
    const auto state = judged_.extract(id).mapped();
    if (is_past(id, state)) return;
    if (!state.enabled) {
        core::log_warn("retry", "webhook_disabled",
                       {{"owner", known_.webhooks().find(id)->webhook.owner},
                        {"webhook", id},
                        {"host", known_.webhooks().find(id)->host},
                        {"reason", state.reason}});
    }
    const auto write = [this, id, state, turn] {
        publish_webhook(id, encode(id, state), [id, turn](const auto& written) {
            if (written) return;
            core::log_error("retry", "webhook_state_not_written",
                            {{"webhook", id}, {"why", written.error().message}});
        });
    };
    state.enabled ? write() : announce_disabled(id, state, write);
}

/// The event comes before the state: a process that ends between them finds the webhook enabled,
/// and what disables it publishes the same event again.
void RetryNode::announce_disabled(const std::string& id, const WebhookState& state,
                                  std::function<void()> then) {
    const auto* entry = known_.webhooks().find(id);
    if (!entry) return then();
    const auto event = disabled_event(entry->webhook, state);
    log::until_written(
        {lifetime_, context_.executor}, *publisher_,
        {Topic::kEvents, core::partition_of(event, partitions())},
        [event] { return core::encode(event); }, [then = std::move(then)](const auto&) { then(); });
}

void RetryNode::publish(log::TopicPartition where, core::Record record, Done done) {
    publisher_->publish(where, std::move(record), [done = std::move(done)](const auto& at) {
        at ? done({}) : done(core::fail(at.error()));
    });
}

void RetryNode::publish_webhook(const std::string& id, core::Record record, Done done) {
    const log::TopicPartition where{Topic::kWebhooks, core::partition_of(id, partitions())};
    publish(where, std::move(record),
            lifetime_.guard([this, id, done = std::move(done)](const auto& written) {
                if (!written) return done(written);
                confirm(id, done);
            }));
}

/// Answers when all nodes will match later events with it, and this one has folded it.
void RetryNode::announce_webhook(const std::string& id, core::Record record, Done done) {
    const auto partition = core::partition_of(id, partitions());
    publisher_->publish(
        {Topic::kWebhooks, partition}, std::move(record),
        lifetime_.guard([this, id, partition,
                         done = std::move(done)](const core::Result<log::Appended>& written) {
            if (!written) return done(core::fail(written.error()));
            notices_.announce(partition, written->offset, [this, id, done](const auto& announced) {
                announced ? confirm(id, done) : done(announced);
            });
        }));
}

/// Answers when all copies have the log's records of this webhook.
void RetryNode::confirm(const std::string& id, const Done& done) {
    known_.confirm(id, lifetime_.guard([this, done](const core::Result<void>& passed) {
        if (!passed) return done(passed);
        const auto one = after(shards_.size(), [done] { done({}); });
        each_shard([one](auto&) { one(); });
    }));
}

void RetryNode::stop_homes(const std::function<void()>& stopped) {
    if (std::exchange(homes_stopping_, true)) return;
    const auto one = after(shards_.size(), stopped);
    each_shard([one](auto& s) { s.stop(one); });
}

void RetryNode::measure() {
    const auto all = counts();
    tier_watch_.update(all.tier_states, all.fanned_out);
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        shards_[i].use([report = here([this, i](const DeliveryShard::Counts& counts) {
                            latest_[i] = counts;
                        })](auto& shard) { report(shard.counts()); });
    }
    if (!stopping_) report_ready();  // a start is further than a second ago
}

void RetryNode::still_alive() {
    cluster_->still_alive();
    note_epochs();
    known_.list_passed_over();
}

void RetryNode::attempts_of(const std::string& webhook, std::function<void(WebhookAttempts)> done) {
    if (!serves(webhook)) return done({});
    const auto report = here(std::move(done));
    shard_of(core::partition_of(webhook, partitions())).use([webhook, report](auto& shard) {
        const auto& attempts = shard.attempts();
        report(WebhookAttempts{.last = attempts.of(webhook), .hours = attempts.hours_of(webhook)});
    });
}

void RetryNode::summaries_of(const std::vector<std::string>& webhooks,
                             std::function<void(std::map<std::string, AttemptSummary>)> done) {
    std::vector<std::string> served;
    std::copy_if(webhooks.begin(), webhooks.end(), std::back_inserter(served),
                 [this](const auto& id) { return serves(id); });
    if (served.empty()) return done({});
    const auto all = std::make_shared<std::map<std::string, AttemptSummary>>();
    const auto report = here([all, count = served.size(), done = std::move(done)](
                                 const std::string& id, const AttemptSummary& summary) {
        all->emplace(id, summary);
        if (all->size() == count) done(std::move(*all));
    });
    for (const auto& id : served) {
        shard_of(core::partition_of(id, partitions())).use([id, report](auto& shard) {
            report(id, shard.attempts().summary_of(id));
        });
    }
}

OwnerUsage RetryNode::usage_of(std::string_view owner) const {
    OwnerUsage sum;
    for (const auto& counts : latest_) {
        const auto found = counts.usage.find(owner);
        if (found != counts.usage.end()) sum += found->second;
    }
    return sum;
}

std::size_t RetryNode::partitions_served() const {
    std::size_t count = 0;
    for (const auto& [partition, home] : homes_) count += home.serving ? 1 : 0;
    return count;
}

bool RetryNode::may_post(const Event& event, const std::string& poster) {
    const auto partition = partition_of(event, partitions());
    known_.waiting().fanned_out(partition, shared(partition).fanned_out);
    return known_.waiting().has_space(partition, poster);
}

void RetryNode::post_event(const Event& event, const std::string& poster, Done done) {
    const WaitingEvents::Posted posted{.partition = partition_of(event, partitions()),
                                       .owner = poster,
                                       .bytes = event.json.size()};
    known_.waiting().post(posted);
    publisher_->publish({Topic::kEvents, posted.partition}, encode(event),
                        lifetime_.guard([this, posted, done = std::move(done)](const auto& at) {
                            at ? known_.waiting().appended(posted, at->offset)
                               : known_.waiting().failed(posted);
                            at ? done({}) : done(core::fail(at.error()));
                        }));
}

void RetryNode::put_webhook(const Webhook& webhook, Done done) {
    announce_webhook(webhook.id, encode(webhook, known_.webhooks().box()), std::move(done));
}

void RetryNode::remove_webhook(const std::string& id, Done done) {
    publish_webhook(id, encode_state_removed(id), [](const auto&) {});
    publish_webhook(id, encode_filter_removed(id), [](const auto&) {});
    announce_webhook(id, encode_removed(id), std::move(done));
}

/// The owner of a webhook is told what others do to it.
void RetryNode::put_state(const std::string& id, const WebhookState& state, Done done) {
    const auto write = [this, id, state, done = std::move(done)] {
        announce_webhook(id, encode(id, state), done);
    };
    const auto* entry = known_.webhooks().find(id);
    const bool by_operator = !state.enabled && state.reason == kDisabledByOperator;
    if (!by_operator || !entry || !entry->state.enabled) return write();
    auto told = state;
    told.enabled_at = entry->state.enabled_at;
    announce_disabled(id, told, write);
}

void RetryNode::deliver(const Delivery& delivery, Done done) {
    const auto partition = core::partition_of(delivery.webhook, partitions());
    publish({Topic::retry(0), partition}, encode(delivery), std::move(done));
}

bool RetryNode::serves(std::string_view webhook) const {
    return serves(core::partition_of(webhook, partitions()));
}

DeliveryShard::Counts RetryNode::counts() const {
    DeliveryShard::Counts sum;
    for (const auto& counts : latest_) sum += counts;
    return sum;
}

void RetryNode::stop(std::function<void()> stopped) {
    stopping_ = true;
    first_attempts_.end();
    const std::function<void()> go_on =
        lifetime_.guard([this, stopped = std::move(stopped)] { stop_homes(stopped); });
    const auto one = after(shards_.size(), go_on);
    each_shard([one](auto& shard) { shard.drain(one); });
    context_.executor.post_after(options_.drain, go_on);
}

}  // namespace beckon::retry
