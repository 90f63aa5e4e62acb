#include "tools/replay/replay_tool.hpp"

#include "core/json_text.hpp"
#include "log/blocking_executor.hpp"
#include "log/read_partition.hpp"
#include "records/events.hpp"

#include <memory>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::tools {

using core::RecordView;
using log::Next;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t kLinesBytes = 256U << 10;
/// How often the rate is checked, and the longest wait of a follower before it checks `stop`.
constexpr std::uint64_t kPaceEvery = 100;
constexpr std::chrono::milliseconds kPollAgain{200};
constexpr std::size_t kFollowBatch = 1'000;

/// Filters, counts and writes.
class Output {
public:
    Output(const ReplayOptions& options, const LineSink& sink)
        : options_(options), sink_(sink), filter_(options.selection) {}

    Next take(log::TopicPartition where, const RecordView& record) {
        if (filter_.is_past(record)) return Next::stop;
        if (++counts_.read % kPaceEvery == 0) pace();
        if (!filter_.admits(record)) return Next::go_on;
        count(record);
        append_json(lines_, where, record, options_.json);
        if (lines_.size() >= kLinesBytes) flush();
        return over() ? Next::stop : Next::go_on;
    }

    void flush() {
        if (!lines_.empty() && !broken_) broken_ = !sink_(lines_);
        lines_.clear();
    }
    bool over() const { return broken_ || counts_.shown >= options_.limit; }
    ReplayCounts counts() const { return counts_; }

private:
    void count(const RecordView& record) {
        ++counts_.shown;
        const auto type = record.header(core::header::kType).value_or("");
        if (type != type_) {
            type_ = type;
            of_type_ = &counts_.by_type[type_];
        }
        ++*of_type_;
        if (!counts_.first || record.time < *counts_.first) counts_.first = record.time;
        if (!counts_.last || record.time > *counts_.last) counts_.last = record.time;
    }

    void pace() const {
        if (options_.rate == 0) return;
        std::this_thread::sleep_until(
            began_ + std::chrono::microseconds{counts_.read * 1'000'000 / options_.rate});
    }

    const ReplayOptions& options_;
    const LineSink& sink_;
    const steady_clock::time_point began_ = steady_clock::now();
    Filter filter_;
    std::string lines_;
    bool broken_ = false;
    ReplayCounts counts_;
    std::string type_;
    std::uint64_t* of_type_ = &counts_.by_type[""];
};

ReplayCounts finished(Output& output) {
    output.flush();
    auto counts = output.counts();
    std::erase_if(counts.by_type, [](const auto& entry) { return entry.second == 0; });
    return counts;
}

/// One partition that is followed.
struct Followed {
    log::TopicPartition where;
    std::unique_ptr<log::PartitionReader> reader;
};

/// Where following begins: at the selection's beginning, by default at the end.
core::Result<std::vector<SelectedRange>> beginnings(log::EventLog& log,
                                                    const ReplayOptions& options) {
    const auto& selection = options.selection;
    if (selection.since || selection.from > 0) {
        return ranges_of(log, selection, options.partitions, options.timeout);
    }
    std::vector<SelectedRange> out;
    const auto where = partitions_of(selection, options.partitions);
    out.reserve(where.size());
    for (const auto partition : where) out.push_back({.where = partition});
    const auto ends = log::ends_of(log, where, options.timeout);
    if (!ends) return core::fail(ends.error());
    std::erase_if(out, [&](const SelectedRange& range) { return !ends->contains(range.where); });
    for (auto& range : out) range.from = ends->at(range.where).end;
    return out;
}

}  // namespace

core::Result<ReplayCounts> show(log::EventLog& log, const ReplayOptions& options,
                                const LineSink& sink, const std::atomic<bool>& stop) {
    const auto ranges = ranges_of(log, options.selection, options.partitions, options.timeout);
    if (!ranges) return core::fail(ranges.error());
    Output output{options, sink};
    for (const auto& range : *ranges) {
        if (output.over() || stop) break;
        const auto read = log::read_range(
            log, range.where, {range.from, range.until},
            [&](const RecordView& record) {
                return stop ? Next::stop : output.take(range.where, record);
            },
            options.timeout);
        if (!read) return core::fail(read.error());
    }
    return finished(output);
}

core::Result<ReplayCounts> follow(log::EventLog& log, const ReplayOptions& options,
                                  const LineSink& sink, const std::atomic<bool>& stop) {
    const auto ranges = beginnings(log, options);
    if (!ranges) return core::fail(ranges.error());
    const auto executor = std::make_shared<log::BlockingExecutor>();
    Output output{options, sink};
    std::optional<core::Error> failed;
    std::vector<Followed> followed;
    followed.reserve(ranges->size());  // wake-ups refer to them
    const auto over = [&] { return stop || failed || output.over(); };
    const auto take = [&](Followed& from) {
        while (!over()) {
            const auto taken = from.reader->take(kFollowBatch, [&](const RecordView& record) {
                if (!over()) output.take(from.where, record);
            });
            if (!taken && !taken.error().retryable()) failed = taken.error();
            if (!taken || taken->drained || taken->records == 0) break;
        }
        output.flush();
    };
    for (const auto& range : *ranges) {
        auto& one = followed.emplace_back(Followed{range.where, nullptr});
        one.reader =
            log.open_reader(range.where, range.from, *executor, [&take, &one] { take(one); });
    }
    const core::SystemClock clock;
    while (!over()) executor->wait_until(over, clock.mono() + kPollAgain);
    followed.clear();  // before the objects that their wake-ups use
    if (failed) return core::fail(*failed);
    return finished(output);
}

std::string counts_json(const ReplayCounts& counts) {
    nlohmann::ordered_json out{{"read", counts.read}, {"shown", counts.shown}};
    out["by_type"] = counts.by_type;
    const auto time = [](const auto& at) {
        return at ? nlohmann::ordered_json(at->time_since_epoch().count())
                  : nlohmann::ordered_json(nullptr);
    };
    out["first"] = time(counts.first);
    out["last"] = time(counts.last);
    return core::json_text(out);
}

}  // namespace beckon::tools
