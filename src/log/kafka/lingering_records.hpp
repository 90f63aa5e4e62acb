#pragma once

#include "log/batching/batching.hpp"
#include "log/batching/senders.hpp"
#include "log/event_log.hpp"
#include "log/kafka/answer_route.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace beckon::log::kafka {

/// A record that was accepted, on its way to librdkafka.
struct Publishing {
    TopicPartition where;
    core::Record record;
    std::unique_ptr<Unconfirmed> unconfirmed;
};

/// The records that the publishers of a process let linger: a produce request carries one
/// partition, so records of a partition that are passed on together share one. librdkafka has one
/// request in flight, and what it was given meanwhile for a partition is the next one: where that
/// is enough (Batching), no record lingers here. Any thread.
///
/// Each partition's records wait on their own, from the first one on. So requests spread, and with
/// senders that wait for their answers each is larger than if all went at one moment.
class LingeringRecords {
public:
    static constexpr std::chrono::milliseconds kWaitMax{20};
    /// Once so many linger, all are due.
    static constexpr std::size_t kLingeringMax = 2000;

    /// Those whose records these are; null: unknown.
    void come_from(std::shared_ptr<Senders> senders);

    enum class Held : std::uint8_t {
        no,     ///< the caller keeps the record, and may send it at once
        waits,  ///< for pass_on_due()
        due,    ///< and that has something now
    };
    Held hold(Publishing& one, SteadyTime::duration linger, SteadyTime now);
    /// Calls `pass_on` with the records that are due, each partition's in their order. One thread
    /// at a time, so that the records of a publisher stay in order: while another one is at it,
    /// that one passes on these too. If `pass_on` throws, the records behind that one wait again,
    /// in their places.
    void pass_on_due(SteadyTime::duration linger, SteadyTime now,
                     const std::function<void(Publishing)>& pass_on);
    /// Removes and returns all.
    std::vector<Publishing> take_all();
    bool empty() const;

private:
    struct Group {
        SteadyTime since;
        std::vector<Publishing> records;  ///< of one partition
    };
    Batching batching(SteadyTime::duration linger, SteadyTime now) const;
    std::vector<Publishing> take_due(SteadyTime::duration linger, SteadyTime now);
    void put_back(std::span<Publishing> records, SteadyTime now);

    mutable std::mutex mutex_;  ///< all below
    std::shared_ptr<Senders> senders_;
    std::map<TopicPartition, Group> groups_;
    std::size_t held_ = 0;
    bool passing_ = false;  ///< records that are not held any more are being passed on
};

}  // namespace beckon::log::kafka
