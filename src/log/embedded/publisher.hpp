#pragma once

#include "core/clock.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "log/embedded/embedded_log.hpp"
#include "log/embedded/partitions.hpp"
#include "log/embedded/writer.hpp"
#include "log/event_log.hpp"

#include <cstddef>
#include <deque>
#include <memory>

namespace beckon::log::embedded {

/// The embedded log's publisher: encodes on its own thread, queues for the writer, and keeps the
/// completions itself, oldest first, so that they run and die on the thread that made them.
///
/// A disk that hangs holds the writer up for as long as it likes. So the publisher watches the time
/// of its oldest publish and answers `unavailable` when that is over; the writer's own answer, if
/// it ever comes, is dropped.
class EmbeddedPublisher final : public Publisher {
public:
    EmbeddedPublisher(const EmbeddedConfig& config, Writer& writer, Partitions& partitions,
                      core::Executor& executor);

    void publish(TopicPartition where, core::Record record, AppendDone done) override;
    std::size_t unanswered() const override { return waiting_.size(); }

private:
    struct Waiting {
        AppendDone done;
        core::MonoTime deadline;
    };

    void refuse(AppendDone done, core::Error error);
    void collect();
    void watch_oldest();
    void give_up_overdue();
    AppendDone take_oldest();

    Writer& writer_;
    Partitions& partitions_;
    const core::Clock& clock_;
    const std::size_t waiting_max_;
    const core::Duration timeout_;

    core::Lifetime lifetime_;
    const std::shared_ptr<AnswerQueue> queue_;
    std::deque<Waiting> waiting_;
    std::size_t given_up_ = 0;  ///< publishes answered here that the writer has still to answer
    bool watching_ = false;     ///< a timer for the oldest runs
    AnswerQueue::Answers answers_;
};

}  // namespace beckon::log::embedded
