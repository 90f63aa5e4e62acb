#pragma once

#include "core/checkpoint.hpp"
#include "core/clock.hpp"
#include "core/record.hpp"
#include "core/result.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

namespace beckon::fold {

/// The index of an input in Options::inputs (fold/fold.hpp).
using InputIndex = std::size_t;

/// Success confirms the query. Always called later, on the executor's thread, and exactly once
/// unless the Fold is destroyed first.
using Answer = std::function<void(const core::Result<void>&)>;
/// How long a query may wait for its answer.
inline constexpr core::Duration kAnswerTimeout = std::chrono::seconds{2};

/// The state of a fold, and the rules by which records change it. All calls come on the
/// executor's thread, none from within a call of the user to the Fold, but answers and callbacks
/// may call the Fold or destroy it, except where a call says otherwise.
class State {
public:
    virtual ~State() = default;

    /// How far the state has come, uncommitted advances included. nullopt: nothing was ever folded,
    /// or nothing of it is kept (a fold in memory always answers so).
    virtual std::optional<core::Checkpoint> checkpoint(InputIndex input) const = 0;

    /// The next record, control records included; live and at load alike. Once each, in the order
    /// of the offsets, from the checkpoint on. Must not destroy the Fold.
    virtual void replay(InputIndex input, const core::RecordView& record) = 0;

    /// All records below `next` are replayed, the youngest of them appended at `youngest`.
    /// `caught_up` (log time) if that was the log's end.
    virtual void advance(InputIndex input, core::Offset next,
                         std::optional<core::Timestamp> caught_up, core::Timestamp youngest) = 0;

    /// Whether this turn is to end with a commit(). A state may collect changes over many turns.
    virtual bool dirty() const = 0;

    /// True if a restoring fold has collected so many changes that it commits before it takes more.
    virtual bool commit_due() const = 0;

    /// Writes state and positions in one batch. Errors: `corrupt`: the state cannot be read back,
    /// so it is cleared and folded again from the log's start. Any other: nothing counts as
    /// written, and it is called again after a pause; see dropped_batch().
    virtual core::Result<void> commit() = 0;

    /// After a commit() that failed: true if the state had to drop its uncommitted changes, because
    /// one of its reads failed. It is folded again from checkpoint(), and restarted() reports that
    /// uncommitted decisions are void. A checkpoint() that has gone back means the same.
    virtual bool dropped_batch() const { return false; }

    /// Drops all state, committed or not, so that it can be folded from the log's start. Tried
    /// again after a pause if it fails.
    virtual core::Result<void> clear() = 0;

    /// The end of a turn, behind its commit() if there was one, which has worked. Frames, records
    /// and answers that follow from its records and decisions leave now, and not before. Decisions
    /// of this call itself may wait for the next turn, which follows if they made the state dirty.
    virtual void turn_ended() = 0;

    /// Read barriers have passed on every input, and all below them is folded: after the start,
    /// and again after each restart.
    virtual void caught_up() = 0;

    /// The fold begins again: from the checkpoint, or from the log's start with a cleared state.
    /// Uncommitted decisions are void. Open queries are answered `unavailable` after this call.
    virtual void restarted(std::string_view why) = 0;

    /// Fold::progress() has changed in its phase, or in being stuck.
    virtual void progressed() {}
};

/// A state that is only in memory: nothing of it is kept, so each start folds from the log's start.
class MemoryState : public State {
public:
    std::optional<core::Checkpoint> checkpoint(InputIndex) const final { return std::nullopt; }
    void advance(InputIndex, core::Offset, std::optional<core::Timestamp>, core::Timestamp) final {}
    bool dirty() const final { return false; }
    bool commit_due() const final { return false; }
    core::Result<void> commit() final { return {}; }
};

}  // namespace beckon::fold
