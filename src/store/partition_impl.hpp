#pragma once

#include "store/database.hpp"
#include "store/folds/notification_fold.hpp"
#include "store/folds/subscription_fold.hpp"
#include "store/partition_store.hpp"
#include "store/tables/checkpoint_table.hpp"
#include "store/tables/months.hpp"
#include "store/tables/receipt_table.hpp"
#include "store/tables/stale_write_table.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

namespace beckon::store {

/// The tables that the partitions of an edge store share; outlives them.
struct EdgeTables {
    Database& database;
    Months& months;
    CheckpointTable& checkpoints;
    const SubscriptionTables& subscriptions;
};

struct PartitionStore::Impl {
    /// `closed` runs when the partition is destroyed.
    Impl(const EdgeTables& t, core::Partition p, std::function<void()> c);
    ~Impl();
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    struct Progress {
        std::optional<core::Checkpoint> checkpoint;
        bool advanced = false;  ///< since the last commit
        /// How far the fold of this log topic has come, by the clock of its own leader.
        core::Timestamp time{};
        bool was_at_end = false;  ///< in this life: then `time` is that of the log's clock
    };

    core::Timestamp time_of(Source source, std::optional<core::Timestamp> caught_up);
    Progress& progress_of(Source source) { return progress[static_cast<std::size_t>(source)]; }
    std::optional<core::Error> read_error() const;
    std::size_t changed_rows() const;
    bool folded(const StaleWrite& what, bool won);
    void go_back();
    /// The value of a table's read; an empty one if the read failed.
    template <class T>
    T value_of(core::Result<T> read) {
        if (read) return std::move(*read);
        if (!table_unread) table_unread = read.error();
        return {};
    }
    void committed();

    const EdgeTables tables;
    const core::Partition partition;
    const std::function<void()> closed;

    std::array<Progress, 2> progress;  ///< by Source
    std::uint64_t messages_read = 0;
    NotificationFold notifications;
    SubscriptionFold subscriptions;
    StaleWriteTable stale_writes;
    ReceiptTable receipts;
    std::optional<core::Error> table_unread;  ///< a read of one of those two failed
};

}  // namespace beckon::store
