#include "retry/role/node_state.hpp"

#include "core/logger.hpp"
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
      dead_(options.dead_letters_max,
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
    dead_fold_ = std::make_unique<DeadFold>();
    dead_fold_->into = &dead_;
    follow_dead_letters(*dead_fold_);
}

void NodeState::follow_dead_letters(DeadFold& fold) {
    fold.state = follow(
        Topic::kRetryDead,
        {.apply = [&fold](const auto& from, const auto& r) { fold.into->apply(from.partition, r); },
         .cleared = [this, &fold] { dead_letters_cleared(fold); },
         .caught_up = [this, &fold] { dead_letters_known(fold); },
         .changed = events_.changed});
    fold.state->start();
}

void NodeState::list_passed_over() {
    const auto now = context_.clock.mono();
    if (next_dead_fold_ || !knows_dead_letters() || !dead_.has_space_again()) return;
    if (listed_again_ != core::MonoTime{} && now - listed_again_ < kListAgain) return;
    listed_again_ = now;
    core::log_info("retry", "dead_letters_listed_again",
                   {{"known", dead_.size()}, {"passed_over", dead_.passed_over()}});
    next_dead_fold_ = std::make_unique<DeadFold>();
    next_dead_fold_->into = &next_dead_fold_->successor.emplace(dead_.successor());
    follow_dead_letters(*next_dead_fold_);
}

/// A fold clears its state at its start too.
void NodeState::dead_letters_cleared(DeadFold& fold) {
    if (fold.successor) {
        *fold.successor = dead_.successor();
        return;
    }
    dead_.clear();
    next_dead_fold_.reset();  // nothing is left to be succeeded
}

void NodeState::dead_letters_known(const DeadFold& fold) {
    if (&fold != next_dead_fold_.get()) return;
    next_dead_fold_->successor->succeed();
    dead_ = std::move(*next_dead_fold_->successor);
    next_dead_fold_->into = &dead_;
    next_dead_fold_->successor.reset();
    dead_fold_ = std::move(next_dead_fold_);
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
    if (next_dead_fold_) next_dead_fold_->into->webhook_known(std::string{record.key});
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
    auto* dead = dead_fold_ ? dead_fold_->state.get() : nullptr;
    for (const auto* one : {done_state_.get(), dead, webhooks_state_.get()}) {
        if (one && !one->fault().empty()) return one->fault();
    }
    if (webhooks_state_->complete()) return {};
    return "reads the webhooks" + (read ? ": " + fold::to_string(*read) : std::string{});
}

}  // namespace beckon::retry
