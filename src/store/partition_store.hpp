#pragma once

#include "core/partition.hpp"
#include "store/database.hpp"
#include "store/edge_store.hpp"
#include "store/months.hpp"
#include "store/subscription_fold.hpp"

#include <functional>
#include <memory>

namespace beckon::store {

/// What the partitions of an edge store share; outlives them.
struct EdgeTables {
    Database& database;
    Months& months;
    const SubscriptionTables& subscriptions;
};

/// `closed` runs when the partition is destroyed.
std::unique_ptr<PartitionStore> make_partition_store(const EdgeTables& tables,
                                                     core::Partition partition,
                                                     std::function<void()> closed);

}  // namespace beckon::store
