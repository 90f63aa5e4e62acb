#include "log/read_partition.hpp"

#include "core/clock.hpp"
#include "core/lasting_executor.hpp"
#include "log/blocking_executor.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace beckon::log {

using core::Fault;
using core::Offset;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kBatch = 1'000;

/// Asks with `ask(executor, done)` and waits for the answer; one that comes later is dropped.
template <class Answer, class Ask>
core::Result<Answer> wait_for(const std::string& what, milliseconds timeout, const Ask& ask) {
    BlockingExecutor executor;
    const core::Lifetime lifetime{executor};
    std::optional<core::Result<Answer>> answer;
    core::ask_while(lifetime, ask, [&](const core::Result<Answer>& result) { answer = result; });
    const auto until = core::SystemClock{}.mono() + timeout;
    if (!executor.wait_until([&] { return answer.has_value(); }, until)) {
        return core::fail(Fault::timed_out, "no answer about " + what);
    }
    return std::move(*answer);
}

std::string name_of(TopicPartition where) { return "the topic " + where.topic.name(); }

/// Reads one range. The executor outlives the reader and the log's last calls to it.
class RangeReader {
public:
    RangeReader(EventLog& log, TopicPartition where, Range range, const ScanSink& sink)
        : where_(where), range_(range), sink_(sink), behind_(range.from) {
        reader_ = log.open_reader(where, range.from, *executor_, [this] { take(); });
    }

    core::Result<Offset> read(milliseconds timeout) {
        while (!over()) {
            const auto before = reader_->position();
            const auto progress = [&] { return over() || reader_->position() != before; };
            if (!executor_->wait_until(progress, clock_.mono() + timeout)) {
                return core::fail(Fault::timed_out, name_of(where_) + " was not read in time");
            }
        }
        if (failed_) return core::fail(*failed_);
        return stopped_ ? behind_ : range_.until;
    }

private:
    bool over() const { return failed_ || stopped_ || reader_->position() >= range_.until; }

    void take() {
        while (!over()) {
            const auto max = static_cast<std::size_t>(
                std::min<Offset>(range_.until - reader_->position(), kBatch));
            const auto taken =
                reader_->take(max, [this](const core::RecordView& record) { deliver(record); });
            if (!taken && !taken.error().retryable()) failed_ = taken.error();
            if (!taken || taken->drained || taken->records == 0) return;
        }
    }

    void deliver(const core::RecordView& record) {
        if (stopped_ || record.offset >= range_.until) return;
        behind_ = record.offset + 1;
        stopped_ = sink_(record) == Next::stop;
    }

    const std::shared_ptr<BlockingExecutor> executor_ = std::make_shared<BlockingExecutor>();
    const core::SystemClock clock_;
    const TopicPartition where_;
    const Range range_;
    const ScanSink& sink_;
    Offset behind_;
    bool stopped_ = false;
    std::optional<core::Error> failed_;
    std::unique_ptr<PartitionReader> reader_;
};

}  // namespace

std::vector<TopicPartition> all_of(Topic topic, core::Partition partitions) {
    std::vector<TopicPartition> found;
    found.reserve(static_cast<std::size_t>(partitions));
    for (core::Partition p = 0; p < partitions; ++p) found.push_back({topic, p});
    return found;
}

core::Result<Ends> ends_of(EventLog& log, TopicPartition where, milliseconds timeout) {
    return wait_for<Ends>(name_of(where), timeout, [&](core::Executor& executor, auto done) {
        log.ends(where, executor, std::move(done));
    });
}

core::Result<std::map<TopicPartition, Ends>> ends_of(EventLog& log,
                                                     const std::vector<TopicPartition>& partitions,
                                                     milliseconds timeout) {
    struct Answers {
        std::map<TopicPartition, Ends> ends;
        std::optional<core::Error> failed;
        std::size_t missing;
    };
    BlockingExecutor executor;
    const core::Lifetime lifetime{executor};  // a call that comes when no thread waits is dropped
    Answers answers{{}, {}, partitions.size()};
    for (const auto where : partitions) {
        const auto ask = [&](core::Executor& lasting, auto done) {
            log.ends(where, lasting, std::move(done));
        };
        core::ask_while(lifetime, ask, [&answers, where](const core::Result<Ends>& ends) {
            --answers.missing;
            if (ends) {
                answers.ends[where] = *ends;
            } else if (ends.error().fault != Fault::not_found) {
                answers.failed = ends.error();
            }
        });
    }
    const auto until = core::SystemClock{}.mono() + timeout;
    const auto all = [&] { return answers.missing == 0 || answers.failed; };
    if (!executor.wait_until(all, until)) {
        return core::fail(Fault::timed_out, "no answer about the ends of " +
                                                std::to_string(partitions.size()) + " partitions");
    }
    if (answers.failed) return core::fail(*answers.failed);
    return std::move(answers.ends);
}

core::Result<std::vector<GroupOffset>> committed_offsets(EventLog& log, const std::string& group,
                                                         std::vector<TopicPartition> partitions,
                                                         milliseconds timeout) {
    return wait_for<std::vector<GroupOffset>>(
        "the offsets of the group " + group, timeout, [&](core::Executor& executor, auto done) {
            log.committed(group, std::move(partitions), executor, std::move(done));
        });
}

core::Result<void> read_partition(EventLog& log, TopicPartition where, const RecordSink& sink,
                                  milliseconds timeout) {
    const auto read = read_range(
        log, where, {},
        [&](const core::RecordView& record) {
            sink(record);
            return Next::go_on;
        },
        timeout);
    if (!read) return core::fail(read.error());
    return {};
}

core::Result<Offset> read_range(EventLog& log, TopicPartition where, Range range,
                                const ScanSink& sink, milliseconds timeout) {
    const auto ends = ends_of(log, where, timeout);
    if (!ends) return core::fail(ends.error());
    range.from = std::max(range.from, ends->start);
    range.until = std::min(range.until, ends->end);
    if (range.from >= range.until) return std::max(range.from, range.until);
    return RangeReader{log, where, range, sink}.read(timeout);
}

core::Result<Offset> offset_at(EventLog& log, TopicPartition where, core::Timestamp time,
                               milliseconds timeout) {
    const auto ends = ends_of(log, where, timeout);
    if (!ends) return core::fail(ends.error());
    // Records below `low` are earlier than `time`; records from `high` on are not.
    Offset low = ends->start;
    Offset high = ends->end;
    while (low < high) {
        const auto middle = low + (high - low) / 2;
        std::optional<Offset> earlier;  // the first record from `middle` on, if it is
        const ScanSink poll = [&](const core::RecordView& record) {
            if (record.time < time) earlier = record.offset;
            return Next::stop;
        };
        const auto read = RangeReader{log, where, {middle, high}, poll}.read(timeout);
        if (!read) return core::fail(read.error());
        (earlier ? low : high) = earlier ? *earlier + 1 : middle;
    }
    return low;
}

}  // namespace beckon::log
