#include "log/newest_values.hpp"

#include "log/read_partition.hpp"

namespace beckon::log {

core::Result<NewestValues> read_newest_values(EventLog& log, TopicPartition where,
                                              std::chrono::milliseconds timeout) {
    NewestValues newest;
    const auto read = read_partition(
        log, where,
        [&](const core::RecordView& record) {
            if (record.value) {
                newest[std::string{record.key}] = std::string{*record.value};
            } else {
                newest.erase(std::string{record.key});
            }
        },
        timeout);
    if (!read) return core::fail(read.error());
    return newest;
}

}  // namespace beckon::log
