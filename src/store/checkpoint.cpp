#include "store/edge_store.hpp"

namespace beckon::store {

bool is_trusted(const Checkpoint& checkpoint, core::Offset log_start, core::Offset log_end,
                core::Timestamp log_now, core::Duration delete_retention) {
    if (checkpoint.next < log_start || checkpoint.next > log_end) return false;
    if (checkpoint.next == log_end) return true;
    // Later than that, tombstones may have been compacted away that this store never read.
    return log_now - checkpoint.caught_up < delete_retention / 2;
}

}  // namespace beckon::store
