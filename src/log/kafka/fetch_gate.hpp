#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

#include <librdkafka/rdkafka.h>

namespace beckon::log::kafka {

/// A client fetches while its readers keep up: the answer to a fetch is passed on once the readers
/// have run that earlier answers called. So a record that comes alone does not wait, and under load
/// the next fetch finds what has come meanwhile in all partitions
/// (docs/decisions/0198-messages-are-batched-under-load.md, with what it carries).
///
/// librdkafka calls nobody between an answer and the next fetch, so it is the answer that waits.
/// Any thread.
class FetchGate : public std::enable_shared_from_this<FetchGate> {
public:
    /// For so long at most, since a reader may be on a thread that hangs.
    static constexpr std::chrono::milliseconds kWaitMax{20};
    /// An answer of so many bytes, or of as many as one partition may bring, does not wait, so
    /// restores do not.
    static constexpr std::size_t kFullBytes = std::size_t{256} * 1024;

    explicit FetchGate(std::size_t partition_bytes_max);

    /// A reader was called: answers wait until what this returns is gone.
    std::shared_ptr<void> called();
    /// Before an answer of so many bytes is passed on.
    void wait(std::size_t bytes);

private:
    void ran();

    const std::size_t full_bytes_;
    std::mutex mutex_;
    std::condition_variable none_;
    std::size_t called_ = 0;  ///< readers that have not run; under mutex_
};

/// Lets the answers to fetches of the client of `conf` wait there. `gate` outlives it.
void wait_at(rd_kafka_conf_t* conf, FetchGate& gate);

}  // namespace beckon::log::kafka
