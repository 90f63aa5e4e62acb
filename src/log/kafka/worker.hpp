#pragma once

#include "core/clock.hpp"
#include "log/kafka/client_conf.hpp"

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include <librdkafka/rdkafka.h>

namespace beckon::log::kafka {

/// A thread for calls that may wait for a broker: one job after the other, in order of their times.
/// Destroying it stops it.
class Worker {
public:
    using Job = std::function<void()>;

    /// `name` has at most 15 characters; `jobs_max` bounds the jobs that wait.
    Worker(const char* name, std::size_t jobs_max);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Waits for the job that runs and drops the others; nothing is taken afterwards. Idempotent.
    void stop();

    /// False when jobs_max jobs wait already, or after stop(). From any thread.
    bool post(Job job);
    bool post_after(core::Duration delay, Job job);

private:
    void run(const std::stop_token& stop, const char* name);

    const std::size_t jobs_max_;
    core::SystemClock clock_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::multimap<core::MonoTime, Job> jobs_;  ///< under mutex_, as the next
    bool stopped_ = false;
    std::jthread thread_;  ///< last: it uses the others
};

/// The thread `log-queries` for queries to the cluster that wait for the answer, and the client
/// that asks them. It is neither the readers', since a broker answers a connection in order and a
/// fetch may wait for records, nor the producer's, which may be replaced.
class QueryThread {
public:
    /// Queries that wait; more are answered `full`.
    static constexpr std::size_t kQueriesMax = 10'000;

    QueryThread(const KafkaConfig& config, KafkaEvents& events);

    bool post(Worker::Job job) { return worker_.post(std::move(job)); }
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
