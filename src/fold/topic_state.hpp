#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "fold/fold.hpp"
#include "fold/progress.hpp"
#include "fold/state.hpp"
#include "log/event_log.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::fold {

/// Whole partitions of the log as a state in memory: the one way to follow a log topic without a
/// store. Partitions are folded from their starts, and from there again when the log has removed
/// records before they were read; a reader that cannot go on is replaced with back-off. Made, used
/// and destroyed on the executor's thread.
class TopicState final : private MemoryState {
public:
    struct Options {
        std::string_view folder = "fold";  ///< that log lines name
        /// All of one topic, by partition, if confirm() is used.
        std::vector<log::TopicPartition> inputs;
        core::NodeId node{};
        Proof proof = Proof::barrier;
    };
    struct Context {
        log::EventLog& log;
        log::Publisher* publisher = nullptr;  ///< of read barriers; null without any
        core::Executor& executor;
        const core::Clock& clock;
    };
    /// None of these may destroy the state.
    struct Events {
        /// Each record in the order of its partition; read barriers too.
        std::function<void(log::TopicPartition, const core::RecordView&)> apply;
        /// Forget all that was applied: all records come again.
        std::function<void()> cleared = [] {};
        /// All records that were there at the start have been applied; again after a new start.
        std::function<void()> caught_up = [] {};
        /// current() or fault() may have changed.
        std::function<void()> changed = [] {};
    };

    TopicState(Options options, const Context& context, Events events);

    void start() { fold_.start(); }

    /// All records were applied that were there at the start.
    bool complete() const { return fold_.phase() == Phase::following; }
    /// Why the fold has not gone on for kStuckAfter; empty: it follows the log.
    std::string fault() const;
    /// How far it is, by input.
    Progress progress() const { return fold_.progress(); }
    /// Whether answers may be given from it: it is complete, and the fold is not stuck.
    bool current() const { return complete() && !fold_.stuck(); }

    /// Answers once all records that were in the partition of this key at the call have been
    /// applied. Errors: as Fold::confirm().
    void confirm(std::string_view key, Answer answer);
    void confirm(core::Partition partition, Answer answer) {
        fold_.confirm(static_cast<InputIndex>(partition), std::move(answer));
    }

private:
    // fold::State
    void replay(InputIndex input, const core::RecordView& record) override;
    core::Result<void> clear() override;
    void turn_ended() override {}
    void caught_up() override { events_.caught_up(); }
    void restarted(std::string_view) override {}
    void progressed() override { events_.changed(); }

    const Options options_;
    const Events events_;
    Fold fold_;  ///< first to go: it calls us
};

}  // namespace beckon::fold
