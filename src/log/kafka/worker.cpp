#include "log/kafka/worker.hpp"

#include <cstddef>
#include <stdexcept>
#include <utility>

#include <pthread.h>

namespace beckon::log::kafka {

Worker::Worker(const char* name, std::size_t jobs_max)
    : jobs_max_(jobs_max),
      thread_([this, name](const std::stop_token& stop) { run(stop, name); }) {}

Worker::~Worker() { stop(); }

void Worker::stop() {
    if (thread_.joinable()) {
        thread_.request_stop();
        thread_.join();
    }
    std::multimap<core::MonoTime, Job> dropped;  // destroyed outside of the lock
    const std::scoped_lock lock{mutex_};
    stopped_ = true;
    dropped.swap(jobs_);
}

bool Worker::post(Job job) { return post_after({}, std::move(job)); }

bool Worker::post_after(core::Duration delay, Job job) {
    const std::scoped_lock lock{mutex_};
    if (stopped_ || jobs_.size() >= jobs_max_) return false;
    jobs_.emplace(clock_.mono() + delay, std::move(job));
    wake_.notify_one();
    return true;
}

void Worker::run(const std::stop_token& stop, const char* name) {
    pthread_setname_np(pthread_self(), name);
    std::unique_lock lock{mutex_};
    while (!stop.stop_requested()) {
        if (jobs_.empty()) {
            wake_.wait(lock, stop, [this] { return !jobs_.empty(); });
            continue;
        }
        const auto due = jobs_.begin()->first;
        const auto now = clock_.mono();
        if (due > now) {
            wake_.wait_for(lock, stop, due - now,
                           [this, due] { return !jobs_.empty() && jobs_.begin()->first < due; });
            continue;
        }
        auto job = jobs_.extract(jobs_.begin());
        lock.unlock();
        job.mapped()();
        lock.lock();
    }
}

QueryThread::QueryThread(const KafkaConfig& config, KafkaEvents& events)
    : config_(config), events_(events), worker_("log-queries", kQueriesMax) {}

core::Result<rd_kafka_t*> QueryThread::client() {
    try {
        if (!client_) client_ = make_client(RD_KAFKA_PRODUCER, make_conf(config_, events_, {}));
        return client_.get();
    } catch (const std::runtime_error& error) {
        return core::fail(core::Fault::unavailable, error.what());
    }
}

}  // namespace beckon::log::kafka
