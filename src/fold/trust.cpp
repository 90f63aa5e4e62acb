#include "fold/trust.hpp"

namespace beckon::fold {

bool is_trusted(const core::Checkpoint& checkpoint, core::Offset log_start, core::Offset log_end,
                core::Timestamp log_now, core::Duration delete_retention) {
    if (checkpoint.next < log_start || checkpoint.next > log_end) return false;
    if (checkpoint.next == log_end) return true;
    return log_now - checkpoint.caught_up < delete_retention / 2;
}

}  // namespace beckon::fold
