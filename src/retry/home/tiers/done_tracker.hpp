#pragma once

#include "core/ids.hpp"
#include "records/done.hpp"

#include <cstddef>
#include <deque>
#include <vector>

namespace beckon::retry {

/// Keeps `Finished` while records are read in order and finished in any order. Records that are
/// read and not finished are the only ones it remembers one by one, so its size is that of the
/// window, and they stand side by side in memory: finished() takes microseconds for a full window.
/// Pure; one thread.
class DoneTracker {
public:
    /// Goes on from the finished records `from`; reading starts at `from.low`.
    explicit DoneTracker(Finished from = {});

    /// True if the record needs no attempt: an earlier owner finished it.
    bool is_finished(core::Offset offset) const;
    /// The reader has delivered this record, which is not finished. Offsets ascend.
    void open(core::Offset offset);
    /// All records below `next` have been read; those that were not opened are finished.
    void read_up_to(core::Offset next);
    /// An opened record is finished. False if it was not open (finished twice).
    bool finish(core::Offset offset);

    Finished finished() const;
    core::Offset low() const;
    /// The number of finished records above low().
    core::Offset finished_above() const;
    /// True if finished() may have changed since the last clear_changed().
    bool changed() const { return changed_; }
    void clear_changed() { changed_ = false; }

private:
    core::Offset next_;                 ///< everything below has been read
    std::deque<core::Offset> open_;     ///< ascending
    std::vector<OffsetRange> earlier_;  ///< finished by an earlier owner, at or above next_
    bool changed_ = false;
};

}  // namespace beckon::retry
