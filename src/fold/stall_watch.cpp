#include "fold/stall_watch.hpp"

namespace beckon::fold {

void StallWatch::update(bool following) {
    if (clock_.mono() - last_turn_ > most_) suspect_ = true;
    if (!suspect_ || asked_ || !following) return;
    asked_ = true;
    prove_([this](const core::Result<void>& confirmed) {
        asked_ = false;
        if (confirmed) suspect_ = false;
    });
}

}  // namespace beckon::fold
