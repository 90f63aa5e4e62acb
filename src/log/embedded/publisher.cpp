#include "log/embedded/publisher.hpp"

#include "core/contain.hpp"
#include "log/embedded/record_format.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace beckon::log::embedded {

using core::Fault;

namespace {

constexpr std::string_view kPublisherAnswers = "log answers";

}  // namespace

EmbeddedPublisher::EmbeddedPublisher(const EmbeddedConfig& config, Writer& writer,
                                     Partitions& partitions, core::Executor& executor)
    : writer_(writer),
      partitions_(partitions),
      clock_(*config.clock),
      waiting_max_(config.waiting_max),
      timeout_(config.publish_timeout),
      lifetime_(executor),
      queue_(std::make_shared<AnswerQueue>(lifetime_.remote(), [this] { collect(); })) {}

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
    if (waiting_.size() + given_up_ >= waiting_max_) {
        return refuse(std::move(done), {Fault::full, std::to_string(waiting_max_) +
                                                         " publishes wait for the log already"});
    }
    const auto deadline = clock_.mono() + timeout_;
    auto body = encode_body(record);
    waiting_.push_back({std::move(done), deadline});
    try {
        writer_.submit({partition, std::move(body), queue_, deadline});
    } catch (...) {  // no memory: nothing was submitted, and no answer may be taken for its own
        waiting_.pop_back();
        throw;
    }
    watch_oldest();
}

void EmbeddedPublisher::refuse(AppendDone done, core::Error error) {
    lifetime_.remote().post([done = std::move(done), error = std::move(error)] {
        const auto call = done;  // it may destroy this publisher, and with it nothing of ours
        call(core::fail(error));
    });
}

AppendDone EmbeddedPublisher::take_oldest() {
    auto done = std::move(waiting_.front().done);
    waiting_.pop_front();
    return done;
}

void EmbeddedPublisher::collect() {
    AnswerQueue::Answers answers;
    answers.swap(answers_);
    queue_->take(answers);
    const auto term = lifetime_.term();
    for (const auto& answer : answers) {
        if (given_up_ > 0) {
            --given_up_;
            continue;
        }
        const auto done = take_oldest();
        core::contain(kPublisherAnswers, [&] { done(answer); });  // the others' answers follow
        if (term.over()) return;
    }
    answers_ = std::move(answers);  // its memory, for the next time
}

void EmbeddedPublisher::watch_oldest() {
    if (waiting_.empty() || watching_) return;
    lifetime_.remote().post_after(waiting_.front().deadline - clock_.mono(), [this] {
        watching_ = false;
        give_up_overdue();
    });
    watching_ = true;
}

void EmbeddedPublisher::give_up_overdue() {
    const auto term = lifetime_.term();
    const auto now = clock_.mono();
    while (!waiting_.empty() && waiting_.front().deadline <= now) {
        ++given_up_;
        const auto done = take_oldest();
        core::contain(kPublisherAnswers, [&] {
            done(core::fail(Fault::unavailable,
                            "the log's disk did not answer within publish_timeout"));
        });
        if (term.over()) return;
    }
    watch_oldest();
}

}  // namespace beckon::log::embedded
