#pragma once

#include "core/result.hpp"
#include "log/embedded/embedded_log.hpp"
#include "log/embedded/log_time.hpp"
#include "log/embedded/partitions.hpp"
#include "log/embedded/storage.hpp"

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

/// The start of the embedded log from the data in its directory. Errors are thrown as one line that
/// names the directory, where a function returns no Result.
namespace beckon::log::embedded {

[[noreturn]] void damaged(const EmbeddedConfig& config, const std::string& what);

template <class T>
T must(const EmbeddedConfig& config, core::Result<T> result) {
    if (!result) {
        throw std::runtime_error("cannot open the log in " + config.directory.string() + ": " +
                                 result.error().message);
    }
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// The partitions of the log in `storage`; of a new one those that are configured.
core::Partition partitions_of_log(const EmbeddedConfig& config, const Storage& storage);

/// Calls `visit` with each offset that a group has committed. Errors: as Storage::scan().
using VisitGroupOffset =
    std::function<void(const std::string& group, TopicPartition where, core::Offset offset)>;
core::Result<void> for_each_group_offset(const Storage& storage, const VisitGroupOffset& visit);

/// Reads back where each partition stands. After a clean stop that is its exact end. After a
/// process was killed it is known too, as long as the kernel that has its writes goes on: behind
/// the last record, and not below what the cleaner has noted or a group has committed. Otherwise it
/// is the end of the reserved block, above every offset that a reader can have seen. Returns where
/// the log's time stood.
std::optional<ClockReading> restore(const EmbeddedConfig& config, Storage& storage,
                                    Partitions& partitions);

}  // namespace beckon::log::embedded
