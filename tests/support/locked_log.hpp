#pragma once

#include "support/memory_log.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace beckon::test {

/// The single-threaded memory log behind one lock, for tests with real threads: everything that
/// the log does, and every call back from it, holds the lock.
class LockedLog final : public log::EventLog {
public:
    explicit LockedLog(std::unique_ptr<log::MemoryLog> inner) : inner_(std::move(inner)) {}

    /// Uses a knob, or looks at records.
    template <class Use>
    auto with(Use use) {
        const std::scoped_lock lock{mutex_};
        return use(*inner_);
    }

    std::unique_ptr<log::Publisher> open_publisher(core::Executor& executor) override {
        const std::scoped_lock lock{mutex_};
        return std::make_unique<LockedPublisher>(mutex_, inner_->open_publisher(locked(executor)));
    }
    std::unique_ptr<log::PartitionReader> open_reader(log::TopicPartition where, core::Offset from,
                                                      core::Executor& executor,
                                                      std::function<void()> ready) override {
        const std::scoped_lock lock{mutex_};
        return std::make_unique<LockedReader>(
            mutex_, inner_->open_reader(where, from, locked(executor), std::move(ready)));
    }
    void ends(log::TopicPartition where, core::Executor& executor,
              std::function<void(core::Result<log::Ends>)> done) override {
        const std::scoped_lock lock{mutex_};
        inner_->ends(where, locked(executor), std::move(done));
    }
    void commit(std::string group, std::vector<log::GroupOffset> offsets, core::Executor& executor,
                std::function<void(core::Result<void>)> done) override {
        const std::scoped_lock lock{mutex_};
        inner_->commit(std::move(group), std::move(offsets), locked(executor), std::move(done));
    }
    void committed(std::string group, std::vector<log::TopicPartition> partitions,
                   core::Executor& executor,
                   std::function<void(core::Result<std::vector<log::GroupOffset>>)> done) override {
        const std::scoped_lock lock{mutex_};
        inner_->committed(std::move(group), std::move(partitions), locked(executor),
                          std::move(done));
    }
    std::unique_ptr<log::Member> join(log::MemberOptions options, core::Executor& executor,
                                      std::function<void(const log::Members&)> changed) override {
        const std::scoped_lock lock{mutex_};
        return inner_->join(std::move(options), locked(executor), std::move(changed));
    }

private:
    using Mutex = std::recursive_mutex;

    class LockedExecutor final : public core::Executor {
    public:
        LockedExecutor(Mutex& mutex, core::Executor& inner) : mutex_(mutex), inner_(inner) {}
        void post(Task task) override { inner_.post(wrap(std::move(task))); }
        void post_after(core::Duration delay, Task task) override {
            inner_.post_after(delay, wrap(std::move(task)));
        }

    private:
        Task wrap(Task task) {
            return [this, task = std::move(task)] {
                const std::scoped_lock lock{mutex_};
                task();
            };
        }
        Mutex& mutex_;
        core::Executor& inner_;
    };

    class LockedPublisher final : public log::Publisher {
    public:
        LockedPublisher(Mutex& mutex, std::unique_ptr<log::Publisher> inner)
            : mutex_(mutex), inner_(std::move(inner)) {}
        ~LockedPublisher() override {
            const std::scoped_lock lock{mutex_};
            inner_.reset();
        }
        void publish(log::TopicPartition where, core::Record record,
                     log::AppendDone done) override {
            const std::scoped_lock lock{mutex_};
            inner_->publish(where, std::move(record), std::move(done));
        }
        std::size_t unanswered() const override {
            const std::scoped_lock lock{mutex_};
            return inner_->unanswered();
        }

    private:
        Mutex& mutex_;
        std::unique_ptr<log::Publisher> inner_;
    };

    class LockedReader final : public log::PartitionReader {
    public:
        LockedReader(Mutex& mutex, std::unique_ptr<log::PartitionReader> inner)
            : mutex_(mutex), inner_(std::move(inner)) {}
        ~LockedReader() override {
            const std::scoped_lock lock{mutex_};
            inner_.reset();
        }
        core::Result<log::Taken> take(std::size_t max, const log::RecordSink& sink) override {
            const std::scoped_lock lock{mutex_};
            return inner_->take(max, sink);
        }
        core::Offset position() const override {
            const std::scoped_lock lock{mutex_};
            return inner_->position();
        }
        void pause() override {
            const std::scoped_lock lock{mutex_};
            inner_->pause();
        }
        void resume() override {
            const std::scoped_lock lock{mutex_};
            inner_->resume();
        }

    private:
        Mutex& mutex_;
        std::unique_ptr<log::PartitionReader> inner_;
    };

    core::Executor& locked(core::Executor& executor) {
        auto& wrapped = executors_[&executor];
        if (!wrapped) wrapped = std::make_unique<LockedExecutor>(mutex_, executor);
        return *wrapped;
    }

    Mutex mutex_;
    std::map<core::Executor*, std::unique_ptr<LockedExecutor>> executors_;
    std::unique_ptr<log::MemoryLog> inner_;
};

}  // namespace beckon::test
