#include "log/embedded/publisher.hpp"

#include "log/embedded/record_format.hpp"

#include <string>
#include <utility>

namespace beckon::log::embedded {

using core::Fault;

EmbeddedPublisher::EmbeddedPublisher(Writer& writer, Partitions& partitions,
                                     std::size_t waiting_max, core::Executor& executor)
    : writer_(writer),
      partitions_(partitions),
      waiting_max_(waiting_max),
      inbox_(std::make_shared<Inbox>(executor, [this] { collect(); })) {}

EmbeddedPublisher::~EmbeddedPublisher() {
    *alive_ = false;
    inbox_->door().shut();
}

void EmbeddedPublisher::publish(TopicPartition where, core::Record record, AppendDone done) {
    auto* const partition = partitions_.find(where);
    if (!partition) {
        return refuse(std::move(done),
                      {Fault::not_found, "no such partition: " + where.topic.name() + "/" +
                                             std::to_string(where.partition)});
    }
    if (size_of(record) > kRecordBytesMax) {
        return refuse(std::move(done),
                      {Fault::too_large,
                       "a record has at most " + std::to_string(kRecordBytesMax) + " bytes"});
    }
    if (waiting_.size() >= waiting_max_) {
        return refuse(std::move(done), {Fault::full, std::to_string(waiting_max_) +
                                                         " publishes wait for the log already"});
    }
    waiting_.push_back(std::move(done));
    writer_.submit({partition, encode_body(record), inbox_});
}

void EmbeddedPublisher::refuse(AppendDone done, core::Error error) {
    inbox_->door().post([done = std::move(done), error = std::move(error)] {
        const auto call = done;  // it may destroy this publisher, and with it nothing of ours
        call(core::fail(error));
    });
}

void EmbeddedPublisher::collect() {
    Inbox::Answers answers;
    answers.swap(answers_);
    inbox_->take(answers);
    const auto alive = alive_;
    for (const auto& answer : answers) {
        const auto done = std::move(waiting_.front());
        waiting_.pop_front();
        done(answer);
        if (!*alive) return;
    }
    answers_ = std::move(answers);  // its memory, for the next time
}

}  // namespace beckon::log::embedded
