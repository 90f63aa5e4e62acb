#pragma once

#include "core/result.hpp"
#include "log/event_log.hpp"
#include "log/kafka/client_conf.hpp"
#include "log/kafka/handles.hpp"
#include "log/kafka/kafka_events.hpp"
#include "log/kafka/worker.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <librdkafka/rdkafka.h>

namespace beckon::log::kafka {

/// Destroys consumers that are in no group. librdkafka does so only when their requests have an
/// answer, and a broker that hangs gives none for a minute: after a moment it goes on without the
/// caller. `events`: the KafkaEvents of the clients.
void close_soon(std::vector<ClientHandle> clients, std::shared_ptr<KafkaEvents> events);

/// Committed offsets of named groups, asked and set on a thread of their own (`log-groups`), so
/// that a coordinator that is away delays no other query. Each group has a consumer here that
/// never joins it, which works only while the group has no members.
///
/// Not through the Admin API: librdkafka (2.0.2 seen; its issues 3663 and 4605 name later versions)
/// ends the process by an assertion when a coordinator goes away under one of its requests.
class GroupOffsets {
public:
    /// Queries that wait; more are answered `full`.
    static constexpr std::size_t kJobsMax = 1'000;

    GroupOffsets(const KafkaConfig& config, std::shared_ptr<KafkaEvents> events);

    /// Runs `job` on the thread; false when too many wait or after stop().
    bool post(Worker::Job job) { return worker_.post(std::move(job)); }
    /// The job that runs gives up soon. From any thread.
    void begin_stop() { stopping_.request_stop(); }
    /// Waits for the job that runs, which ends soon, drops the others and closes the clients.
    void stop();

    /// Both run in jobs only and wait up to some seconds for the coordinator. `group` is without
    /// the prefix. Errors: unavailable, conflict (the group has members, who alone may commit).
    core::Result<void> commit(const std::string& group, const std::vector<GroupOffset>& offsets);
    /// Partitions without an offset are left out; the order is that of `partitions`.
    core::Result<std::vector<GroupOffset>> committed(const std::string& group,
                                                     const std::vector<TopicPartition>& partitions);

private:
    /// Made at the first commit and kept.
    core::Result<rd_kafka_t*> client_of(const std::string& group);

    const KafkaConfig config_;
    const std::shared_ptr<KafkaEvents> events_;
    std::stop_source stopping_;
    std::map<std::string, ClientHandle> clients_;  ///< of the groups that are committed
    Worker worker_;                                ///< last: its jobs use the others
};

}  // namespace beckon::log::kafka
