#include "log/read_partition.hpp"

#include "core/clock.hpp"
#include "core/lifetime.hpp"
#include "log/blocking_executor.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace beckon::log {

using core::Fault;
using core::Offset;
using std::chrono::milliseconds;

namespace {

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

/// Reads one range. Each record has `timeout` to come.
core::Result<Offset> scan(EventLog& log, TopicPartition where, Range range, const ScanSink& sink,
                          milliseconds timeout) {
    BlockingExecutor executor;
    std::optional<core::Result<Offset>> read;
    const RangeScan reading{
        log, where, range, executor, sink, [&](const auto& end) { read = end; }, timeout};
    executor.wait_until([&] { return read.has_value(); }, core::MonoTime::max());
    return std::move(*read);
}

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

core::Result<NewestValues> read_newest_values(EventLog& log, TopicPartition where,
                                              milliseconds timeout) {
    NewestValues newest;
    const auto read = read_partition(
        log, where,
        [&](const core::RecordView& record) {
            if (record.value) {
                newest[std::string{record.key}] = std::string{*record.value};
            } else {
                newest.erase(std::string{record.key});
            }
        },
        timeout);
    if (!read) return core::fail(read.error());
    return newest;
}

core::Result<Offset> read_range(EventLog& log, TopicPartition where, Range range,
                                const ScanSink& sink, milliseconds timeout) {
    const auto ends = ends_of(log, where, timeout);
    if (!ends) return core::fail(ends.error());
    range.from = std::max(range.from, ends->start);
    range.until = std::min(range.until, ends->end);
    if (range.from >= range.until) return std::max(range.from, range.until);
    return scan(log, where, range, sink, timeout);
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
        const auto read = scan(log, where, {middle, high}, poll, timeout);
        if (!read) return core::fail(read.error());
        (earlier ? low : high) = earlier ? *earlier + 1 : middle;
    }
    return low;
}

}  // namespace beckon::log
