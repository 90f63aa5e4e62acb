#pragma once

#include "core/clock.hpp"
#include "fold/state.hpp"

#include <functional>
#include <utility>

namespace beckon::fold {

/// Notices that the loop stalled: another node may have taken over meanwhile, so nothing is
/// denied before read barriers prove that everything was seen.
class StallWatch {
public:
    /// `most`: between two turned(). `prove` asks for read barriers on every input.
    StallWatch(core::Duration most, const core::Clock& clock, std::function<void(Answer)> prove)
        : most_(most), clock_(clock), prove_(std::move(prove)) {}

    /// The loop turns.
    void turned() { last_turn_ = clock_.mono(); }
    /// Reads the clock; `following`: read barriers can be asked for.
    void update(bool following) {
        if (clock_.mono() - last_turn_ > most_) stalled_ = true;
        if (!stalled_ || asked_ || !following) return;
        asked_ = true;
        prove_([this](const core::Result<void>& confirmed) {
            asked_ = false;
            if (confirmed) stalled_ = false;
        });
    }
    bool stalled() const { return stalled_; }
    /// Read barriers have passed that were set since.
    void proven() { stalled_ = false; }
    /// The query under way is not answered any more.
    void forget_query() { asked_ = false; }

private:
    const core::Duration most_;
    const core::Clock& clock_;
    const std::function<void(Answer)> prove_;
    core::MonoTime last_turn_{};
    bool stalled_ = false;
    bool asked_ = false;
};

}  // namespace beckon::fold
