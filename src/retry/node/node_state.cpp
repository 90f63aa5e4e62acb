#include "retry/node/node_state.hpp"

#include "log/read_partition.hpp"
#include "records/done.hpp"

#include <utility>

namespace beckon::retry {

using log::Topic;

NodeState::NodeState(Options options, Context context, Events events)
    : options_(options),
      context_(std::move(context)),
      events_(std::move(events)),
      directory_(SecretBox{context_.keys}),
      dead_(DeadIndex::kLettersMax,
            [this](const std::string& webhook) {
                const auto* entry = directory_.find(webhook);
                return entry ? entry->webhook.owner : std::string{};
            }),
      waiting_(options.partitions),
      shown_(context_.clock) {}

void NodeState::start() {
    webhooks_state_ = follow(
        Topic::kWebhooks,
        {.apply = [this](const auto& from, const auto& r) { apply_webhook(from.partition, r); },
         .cleared =
             [this] {
                 directory_.clear();
                 events_.webhooks_cleared();
             },
         .caught_up = events_.webhooks_known,
         .changed = events_.webhooks_changed});
    webhooks_state_->start();
    done_state_ =
        follow(Topic::kRetryDone,
               {.apply = [this](const auto& from, const auto& r) { apply_done(from.partition, r); },
                .changed = events_.changed});
    done_state_->start();
}

void NodeState::start_dead_letters() {
    dead_state_ = follow(
        Topic::kRetryDead,
        {.apply = [this](const auto& from, const auto& r) { dead_.apply(from.partition, r); },
         .cleared = [this] { dead_.clear(); },
         .changed = events_.changed});
    dead_state_->start();
}

std::unique_ptr<fold::TopicState> NodeState::follow(Topic topic, fold::TopicState::Events events) {
    return std::make_unique<fold::TopicState>(
        fold::TopicState::Options{.folder = "retry",
                                  .inputs = log::all_of(topic, options_.partitions),
                                  .node = options_.node},
        fold::TopicState::Context{context_.log, &context_.publisher, context_.executor,
                                  context_.clock},
        std::move(events));
}

void NodeState::apply_webhook(core::Partition partition, const core::RecordView& record) {
    directory_.apply(record);
    dead_.webhook_known(std::string{record.key});
    events_.webhook_read(partition, record);
}

/// Events whose fan-out another process records count likewise.
void NodeState::apply_done(core::Partition partition, const core::RecordView& record) {
    if (done_state_->complete()) shown_.learn(record.time);  // it was written a moment ago
    if (waiting_.empty(partition)) return;
    if (const auto done = decode_done(record)) waiting_.fanned_out(partition, done->events_next);
}

std::string NodeState::why_not_current() {
    const auto read = webhooks_read_.measure(webhooks_state_->progress(), context_.clock.mono());
    for (const auto* one : {done_state_.get(), dead_state_.get(), webhooks_state_.get()}) {
        if (one && !one->fault().empty()) return one->fault();
    }
    if (webhooks_state_->complete()) return {};
    return "reads the webhooks" + (read ? ": " + fold::to_string(*read) : std::string{});
}

}  // namespace beckon::retry
