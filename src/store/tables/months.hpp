#pragma once

#include "core/clock.hpp"
#include "core/result.hpp"
#include "store/database.hpp"
#include "store/rows/schema.hpp"
#include "store/types.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace beckon::store {

struct MonthFamily {
    Month month = 0;
    Family family;
};
/// Ascending by month; never changes once made.
using MonthList = std::vector<MonthFamily>;

/// The message families by month of expiry, or by its day. Folds of several threads make them when
/// they meet a new month, one at a time; drop_past() removes them while others fold. A fold that
/// still holds a list may read its families to the end, and its writes to a dropped family are
/// ignored.
///
/// The oldest live month is a row of the store, not a clock: it only rises, and before anything is
/// dropped, so that no fold brings a dropped month back.
class Months {
public:
    Months(Database& database, Rotation rotation);

    /// Rises with every change of list() and oldest_live().
    std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
    std::shared_ptr<const MonthList> list() const;
    Month oldest_live() const { return oldest_live_.load(std::memory_order_acquire); }

    /// The month that a message of this expiry belongs to.
    Month bucket(core::Timestamp expiry) const {
        switch (rotation_) {
            case Rotation::monthly: return month_of(expiry);
            case Rotation::daily: return day_of(expiry);
            case Rotation::off: break;
        }
        return kEveryMonth;
    }
    /// Makes the family unless it is there or its month is over. Errors: full, unavailable.
    core::Result<void> require(Month month);

    /// Drops families that are over by both clocks, and returns their names.
    std::vector<std::string> drop_past(core::Timestamp log_now, core::Timestamp host_now);

private:
    std::string name_of(Month month) const {
        return rotation_ == Rotation::daily ? day_family_name(month) : month_family_name(month);
    }
    void replace_list(MonthList list);
    /// Returns the names of the families that it dropped.
    std::vector<std::string> drop_below_oldest();

    Database& database_;
    const Rotation rotation_;
    std::atomic<Month> oldest_live_ = 0;
    std::atomic<std::uint64_t> generation_ = 1;

    /// Over and in no list any more, but the disk has refused to drop them: tried again each time.
    MonthList undropped_;
    /// Dropped, but perhaps still in a fold's list. Closing the last handle deletes the files,
    /// which takes time: drop_past() does it, not a shard.
    std::vector<Family> dropped_;

    mutable std::mutex list_mutex_;  ///< guards list_
    std::shared_ptr<const MonthList> list_;
    std::mutex change_mutex_;  ///< one change at a time, which may take milliseconds
};

}  // namespace beckon::store
