#pragma once

#include "core/checkpoint.hpp"

namespace beckon::fold {

/// Whether a fold may go on from its checkpoint: log start ≤ next ≤ end, and it equals the end or
/// was last caught up less than half of `delete_retention` ago (log time). Later than that,
/// compaction may have removed tombstones that it never read, and their messages would be pending
/// again. (The log id is checked when the store is opened.) Pure.
inline bool is_trusted(const core::Checkpoint& checkpoint, core::Offset log_start,
                       core::Offset log_end, core::Timestamp log_now,
                       core::Duration delete_retention) {
    if (checkpoint.next < log_start || checkpoint.next > log_end) return false;
    if (checkpoint.next == log_end) return true;
    return log_now - checkpoint.caught_up < delete_retention / 2;
}

}  // namespace beckon::fold
