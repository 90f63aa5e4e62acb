#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/key_ring.hpp"
#include "core/shown_clock.hpp"
#include "fold/restored.hpp"
#include "fold/topic_state.hpp"
#include "log/event_log.hpp"
#include "retry/home/dead/dead_index.hpp"
#include "retry/role/waiting_events.hpp"
#include "retry/webhook/directory.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace beckon::retry {

/// What a node of the role `retry` has read of the log, all partitions of it: the webhooks, their
/// dead letters, and which events are fanned out. Made, used and destroyed on the executor's
/// thread.
class NodeState {
public:
    struct Options {
        core::Partition partitions = 16;
        core::NodeId node{};
        std::size_t dead_letters_max = DeadIndex::kLettersMax;
    };
    struct Context {
        log::EventLog& log;
        log::Publisher& publisher;  ///< of read barriers
        core::Executor& executor;
        const core::Clock& clock;
        std::shared_ptr<const core::KeyRing> keys;
    };
    /// None of these may destroy the state.
    struct Events {
        /// A record of `webhooks`, which webhooks() has.
        std::function<void(core::Partition, const core::RecordView&)> webhook_read;
        /// All webhooks are read anew.
        std::function<void()> webhooks_cleared;
        /// All webhooks have been read; again after they were read anew.
        std::function<void()> webhooks_known;
        /// knows_webhooks() may have changed.
        std::function<void()> webhooks_changed;
        /// why_not_current() may have changed.
        std::function<void()> changed;
    };

    NodeState(Options options, Context context, Events events);

    void start();
    /// Once, when all webhooks are known: they say whose the letters are.
    void start_dead_letters();
    /// Lists dead letters that were too many, once there is space for them; call it every second.
    void list_passed_over();

    const WebhookDirectory& webhooks() const { return directory_; }
    /// Whether webhooks() has all of them, and follows the log.
    bool knows_webhooks() const { return webhooks_state_ && webhooks_state_->current(); }
    DeadIndex& dead_letters() { return dead_; }
    const DeadIndex& dead_letters() const { return dead_; }
    bool knows_dead_letters() const { return dead_fold_ && dead_fold_->state->current(); }
    /// The posted events that no node has fanned out yet, as far as their owners posted them here.
    WaitingEvents& waiting() { return waiting_; }
    /// The log's time, as far as records show it; else the host's.
    core::Timestamp now() const { return shown_.wall(); }

    /// Answers once webhooks() has all records of this key (or partition) that are in the log at
    /// the call. Errors: as fold::TopicState::confirm().
    void confirm(const std::string& webhook, fold::Answer answer) {
        webhooks_state_->confirm(webhook, std::move(answer));
    }
    void confirm(core::Partition partition, fold::Answer answer) {
        webhooks_state_->confirm(partition, std::move(answer));
    }
    /// For people; empty: everything is read, and follows the log.
    std::string why_not_current();

private:
    /// A fold of `retry.dead` into the index, or into one that is to succeed it.
    struct DeadFold {
        DeadIndex* into = nullptr;
        std::optional<DeadIndex> successor{};
        std::unique_ptr<fold::TopicState> state{};
    };
    /// From one fold for letters that were passed over to the next.
    static constexpr std::chrono::seconds kListAgain{60};

    void dead_letters_cleared(DeadFold& fold);
    void dead_letters_known(const DeadFold& fold);
    void follow_dead_letters(DeadFold& fold);
    std::unique_ptr<fold::TopicState> follow(log::Topic topic, fold::TopicState::Events events);
    void apply_webhook(core::Partition partition, const core::RecordView& record);
    void apply_done(core::Partition partition, const core::RecordView& record);

    const Options options_;
    const Context context_;
    const Events events_;
    WebhookDirectory directory_;
    DeadIndex dead_;
    WaitingEvents waiting_;
    core::ShownClock shown_;
    fold::RestoreMeter webhooks_read_;
    std::unique_ptr<fold::TopicState> webhooks_state_;  ///< null before start()
    std::unique_ptr<fold::TopicState> done_state_;      ///< likewise
    std::unique_ptr<DeadFold> dead_fold_;               ///< null before start_dead_letters()
    std::unique_ptr<DeadFold> next_dead_fold_;          ///< null: nothing is folded again
    core::MonoTime listed_again_{};                     ///< when such a fold was begun
};

}  // namespace beckon::retry
