#pragma once

#include "core/record.hpp"
#include "log/event_log.hpp"
#include "records/events.hpp"
#include "retry/bench/waits.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace beckon::test {

/// A log that notes when the records of observed events and of their deliveries are written and
/// read.
class ObservedLog final : public log::EventLog {
public:
    ObservedLog(log::EventLog& log, Waits& waits) : log_(log), waits_(waits) {}

    std::unique_ptr<log::Publisher> open_publisher(core::Executor& executor) override {
        return std::make_unique<ObservedPublisher>(waits_, log_.open_publisher(executor));
    }
    std::unique_ptr<log::PartitionReader> open_reader(log::TopicPartition where, core::Offset from,
                                                      core::Executor& executor,
                                                      std::function<void()> ready) override {
        auto reader = log_.open_reader(where, from, executor, std::move(ready));
        if (where.topic == log::Topic::kEvents) {
            return std::make_unique<ObservedReader>(waits_, Step::read, std::move(reader));
        }
        if (where.topic == log::Topic::retry(0)) {
            return std::make_unique<ObservedReader>(waits_, Step::delivery_read, std::move(reader));
        }
        return reader;
    }
    void ends(log::TopicPartition where, core::Executor& executor,
              std::function<void(core::Result<log::Ends>)> done) override {
        log_.ends(where, executor, std::move(done));
    }
    void commit(std::string group, std::vector<log::GroupOffset> offsets, core::Executor& executor,
                std::function<void(core::Result<void>)> done) override {
        log_.commit(std::move(group), std::move(offsets), executor, std::move(done));
    }
    void committed(std::string group, std::vector<log::TopicPartition> partitions,
                   core::Executor& executor,
                   std::function<void(core::Result<std::vector<log::GroupOffset>>)> done) override {
        log_.committed(std::move(group), std::move(partitions), executor, std::move(done));
    }
    std::unique_ptr<log::Member> join(log::MemberOptions options, core::Executor& executor,
                                      std::function<void(const log::Members&)> changed) override {
        return log_.join(std::move(options), executor, std::move(changed));
    }

private:
    class ObservedPublisher final : public log::Publisher {
    public:
        ObservedPublisher(Waits& waits, std::unique_ptr<log::Publisher> to)
            : waits_(waits), to_(std::move(to)) {}
        void publish(log::TopicPartition where, core::Record record,
                     log::AppendDone done) override {
            if (where.topic == log::Topic::kEvents) {
                waits_.note(Step::published, record.key);
                done = [this, key = record.key, done = std::move(done)](const auto& at) {
                    waits_.note(Step::stored, key);
                    done(at);
                };
            } else if (where.topic == log::Topic::retry(0)) {
                for (const auto& header : record.headers) {
                    if (header.name == core::header::kId) {
                        waits_.note(Step::fanned_out, header.value);
                    }
                }
            }
            to_->publish(where, std::move(record), std::move(done));
        }
        std::size_t unanswered() const override { return to_->unanswered(); }

    private:
        Waits& waits_;
        std::unique_ptr<log::Publisher> to_;
    };

    class ObservedReader final : public log::PartitionReader {
    public:
        ObservedReader(Waits& waits, Step step, std::unique_ptr<log::PartitionReader> from)
            : waits_(waits), step_(step), from_(std::move(from)) {}
        core::Result<log::Taken> take(std::size_t max, const log::RecordSink& sink) override {
            return from_->take(max, [&](const core::RecordView& record) {
                const auto id = record.header(core::header::kId);
                waits_.note(step_, id ? *id : record.key);
                sink(record);
            });
        }
        core::Offset position() const override { return from_->position(); }
        void pause() override { from_->pause(); }
        void resume() override { from_->resume(); }

    private:
        Waits& waits_;
        const Step step_;
        std::unique_ptr<log::PartitionReader> from_;
    };

    log::EventLog& log_;
    Waits& waits_;
};

}  // namespace beckon::test
