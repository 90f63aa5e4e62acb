#pragma once

#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "log/event_log.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace beckon::console {

/// Reads some partitions from their start and goes on as they grow, for pages that only show a
/// topic: no read barrier proves that the folded state is current. The executor's thread.
class TopicFollower {
public:
    using Apply = std::function<void(log::TopicPartition, const core::RecordView&)>;
    TopicFollower(const std::vector<log::TopicPartition>& partitions, log::EventLog& log,
                  core::Executor& executor, Apply apply);
    TopicFollower(const TopicFollower&) = delete;
    TopicFollower& operator=(const TopicFollower&) = delete;

    /// All partitions were read to their end once.
    bool complete() const;

private:
    struct Input {
        log::TopicPartition where;
        std::unique_ptr<log::PartitionReader> reader;
        bool complete = false;
    };
    void read(Input& input);

    core::Executor& executor_;
    const Apply apply_;
    core::Lifetime lifetime_;
    std::vector<Input> inputs_;
};

}  // namespace beckon::console
