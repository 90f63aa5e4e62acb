#pragma once

#include "fold/state.hpp"

namespace beckon::fold {

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
