#pragma once

#include "log/kafka/client_conf.hpp"
#include "log/kafka/worker.hpp"

#include <cstddef>
#include <stop_token>
#include <utility>

namespace beckon::log::kafka {

/// The thread `log-queries` for queries to the cluster that wait for the answer, and the client
/// that asks them. It is neither the readers', since a broker answers a connection in order and a
/// fetch may wait for records, nor the producer's, which may be replaced.
class QueryThread {
public:
    /// Queries that wait; more are answered `full`.
    static constexpr std::size_t kQueriesMax = 10'000;

    QueryThread(const KafkaConfig& config, KafkaEvents& events);

    bool post(Worker::Job job) { return worker_.post(std::move(job)); }
    bool post_after(core::Duration delay, Worker::Job job) {
        return worker_.post_after(delay, std::move(job));
    }
    /// The job that runs gives up soon. From any thread.
    void begin_stop() { stopping_.request_stop(); }
    /// Waits for the job that runs and drops the others.
    void stop() {
        begin_stop();
        worker_.stop();
    }
    /// For the calls of a job that may wait for long.
    std::stop_token stopping() const { return stopping_.get_token(); }

    /// Made at the first query. In jobs only. Errors: unavailable (out of threads, descriptors).
    core::Result<rd_kafka_t*> client();

private:
    const KafkaConfig config_;
    KafkaEvents& events_;
    ClientHandle client_;
    std::stop_source stopping_;
    Worker worker_;  ///< last: its jobs use the others
};

}  // namespace beckon::log::kafka
