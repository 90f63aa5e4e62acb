#include "retry/bench/baseline.hpp"

#include <optional>
#include <utility>

namespace beckon::test {

using std::chrono::system_clock;

struct Baseline::Impl : std::enable_shared_from_this<Impl> {
    Impl(log::EventLog& l, std::chrono::seconds d, core::Executor& e, Due receive)
        : log(l), delay(d), executor(e), due(std::move(receive)) {}

    /// One partition.
    struct Reader {
        log::TopicPartition where;
        std::unique_ptr<log::PartitionReader> reader;
        core::Offset next = 0;
    };

    log::EventLog& log;
    const std::chrono::seconds delay;
    core::Executor& executor;
    const Due due;
    const system_clock::time_point begun = system_clock::now();
    std::vector<Reader> readers;

    void open(std::size_t index) {
        auto& one = readers[index];
        one.reader =
            log.open_reader(one.where, one.next, executor, [weak = weak_from_this(), index] {
                if (const auto self = weak.lock()) self->turn(index);
            });
        turn(index);
    }
    core::Duration left(const core::RecordView& record) const {
        const system_clock::time_point at{record.time.time_since_epoch()};
        return at + delay - system_clock::now();
    }
    void turn(std::size_t index) {
        auto& one = readers[index];
        std::optional<core::Duration> wait;
        while (one.reader && !wait) {
            const auto taken = one.reader->take(1, [&](const core::RecordView& record) {
                const auto rest = left(record);
                if (rest > core::Duration::zero()) {
                    wait = rest;
                    return;
                }
                one.next = record.offset + 1;
                if (record.time.time_since_epoch() >= begun.time_since_epoch()) due(-rest);
            });
            if (!taken || taken->records == 0) return;  // `ready` comes
        }
        if (wait) give_back(index, *wait);
    }
    void give_back(std::size_t index, core::Duration wait) {
        readers[index].reader->pause();
        executor.post_after(wait, [weak = weak_from_this(), index] {
            if (const auto self = weak.lock()) self->open(index);
        });
    }
};

Baseline::Baseline(log::EventLog& log, log::Topic topic, core::Partition partitions,
                   std::chrono::seconds delay, core::Executor& executor, Due due)
    : impl_(std::make_shared<Impl>(log, delay, executor, std::move(due))) {
    for (core::Partition p = 0; p < partitions; ++p) impl_->readers.push_back({{topic, p}, {}, 0});
    for (std::size_t i = 0; i < impl_->readers.size(); ++i) {
        executor.post([weak = impl_->weak_from_this(), i] {
            if (const auto self = weak.lock()) self->open(i);
        });
    }
}

Baseline::~Baseline() = default;

}  // namespace beckon::test
