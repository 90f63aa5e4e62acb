#pragma once

#include <memory>

#include <rocksdb/table_properties.h>

namespace beckon::store {

/// Marks a file of message rows for compaction when many more rows of one client are deleted in it
/// than are there: the next read of a client that was drained must step over each of them. Rows
/// that are deleted one by one for many clients, as acks do it, slow no read and mark nothing: they
/// are most of every flush, and a compaction for each would rewrite all that waits.
std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> marks_drained_clients();

/// So many more deleted rows than others of one client, in a row.
inline constexpr int kDrainedRows = 2'048;

}  // namespace beckon::store
