#pragma once

#include "log/event_log.hpp"
#include "log/kafka/answer_route.hpp"
#include "log/traffic.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace beckon::log::kafka {

/// A record that was accepted, on its way to librdkafka.
struct Publishing {
    TopicPartition where;
    core::Record record;
    std::unique_ptr<Unconfirmed> unconfirmed;
};

/// The records that the publishers of a process let linger: a produce request carries one
/// partition, so records of a partition that are passed on together share one. Under light traffic
/// no record lingers. Any thread.
class LingeringRecords {
public:
    /// Once so many linger, all are due.
    static constexpr std::size_t kLingeringMax = 2000;

    /// Takes the record, for at most linger_time(). False: the caller keeps it and may send it at
    /// once.
    bool hold(Publishing& one, SteadyTime now);
    /// Removes and returns the records that are due, each partition's together and in their order.
    std::vector<Publishing> take_due(SteadyTime now);
    std::vector<Publishing> take_all();
    bool empty() const;

private:
    struct Group {
        SteadyTime due;
        std::vector<Publishing> records;  ///< of one partition
    };

    Traffic traffic_;
    mutable std::mutex mutex_;
    std::map<TopicPartition, Group> groups_;  ///< under mutex_, as the next
    std::size_t held_ = 0;
};

}  // namespace beckon::log::kafka
