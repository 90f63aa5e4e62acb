#pragma once

#include "log/embedded/writer.hpp"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace beckon::log::embedded {

/// The offsets that groups committed: in memory for looking up, in `meta` for the next start.
/// Thread-safe.
class GroupOffsets {
public:
    GroupOffsets(const Storage& storage, Writer& writer);

    void commit(std::string group, std::vector<GroupOffset> offsets, core::Executor& executor,
                std::function<void(core::Result<void>)> done);
    std::vector<GroupOffset> committed(const std::string& group,
                                       const std::vector<TopicPartition>& partitions) const;

private:
    void load(const Storage& storage);

    Writer& writer_;
    mutable std::mutex mutex_;
    std::map<std::string, std::map<TopicPartition, core::Offset>> groups_;
};

}  // namespace beckon::log::embedded
