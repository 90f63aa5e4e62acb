#pragma once

#include "log/embedded/writer.hpp"

#include <deque>
#include <memory>

namespace beckon::log::embedded {

/// The embedded log's publisher: encodes on its own thread, queues for the writer, and keeps the
/// completions itself, oldest first, so that they run and die on the thread that made them.
class EmbeddedPublisher final : public Publisher {
public:
    EmbeddedPublisher(Writer& writer, Partitions& partitions, std::size_t waiting_max,
                      core::Executor& executor);
    ~EmbeddedPublisher() override;
    EmbeddedPublisher(const EmbeddedPublisher&) = delete;
    EmbeddedPublisher& operator=(const EmbeddedPublisher&) = delete;

    void publish(TopicPartition where, core::Record record, AppendDone done) override;
    std::size_t unanswered() const override { return waiting_.size(); }

private:
    void refuse(AppendDone done, core::Error error);
    void collect();

    Writer& writer_;
    Partitions& partitions_;
    const std::size_t waiting_max_;
    const std::shared_ptr<Inbox> inbox_;
    const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    std::deque<AppendDone> waiting_;
    Inbox::Answers answers_;
};

}  // namespace beckon::log::embedded
