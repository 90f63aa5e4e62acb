#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "fold/read_barrier.hpp"
#include "log/event_log.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace beckon::retry {

/// Reads all partitions of one log topic into state that every node has: an event may be for any
/// webhook, and any node may be asked for any dead letter. A reader that fails is opened again at
/// its position, with back-off, for as long as it takes; until it reads again the view may be
/// stale, and fault() has the reason. On the executor's thread.
class TopicView {
public:
    static constexpr core::Duration kOpenAgain = std::chrono::milliseconds{500};
    static constexpr core::Duration kOpenAgainMost = std::chrono::seconds{30};

    struct Options {
        log::Topic topic;
        core::Partition partitions = 1;
        core::NodeId node;
    };
    struct Events {
        /// Each record in the order of its partition.
        std::function<void(core::Partition, const core::RecordView&)> apply;
        /// Called once: all records that were there at the start have been applied.
        std::function<void()> caught_up;
        /// fault() may have changed.
        std::function<void()> changed = [] {};
    };

    TopicView(Options options, log::EventLog& log, log::Publisher& publisher,
              core::Executor& executor, Events events);
    ~TopicView();
    TopicView(const TopicView&) = delete;
    TopicView& operator=(const TopicView&) = delete;

    void start();
    bool caught_up() const;
    /// The reader that cannot go on, and the reason; empty: all read.
    std::string fault() const;
    /// Answers once all records that were in the partition of this key at the call have been
    /// applied.
    void confirm(std::string_view key, fold::ReadBarrier::Answer answer);
    void confirm(core::Partition partition, fold::ReadBarrier::Answer answer);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
