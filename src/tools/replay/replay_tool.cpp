#include "tools/replay/replay_tool.hpp"

#include "core/base64url.hpp"
#include "core/json_text.hpp"
#include "core/partition.hpp"
#include "log/blocking_executor.hpp"
#include "log/read_partition.hpp"
#include "records/events.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
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

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

bool is_plain(unsigned char byte) {
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

void append_escaped(std::string& out, unsigned char byte) {
    if (byte == '"' || byte == '\\') {
        out.push_back('\\');
        out.push_back(static_cast<char>(byte));
        return;
    }
    out += "\\u00";
    out.push_back(kHexDigits[byte >> 4]);
    out.push_back(kHexDigits[byte & 15]);
}

void append_text(std::string& out, std::string_view text) {
    out.push_back('"');
    std::size_t plain = 0;  // the bytes that are not written yet begin here
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (is_plain(byte)) continue;
        out.append(text, plain, i - plain);
        append_escaped(out, byte);
        plain = i + 1;
    }
    out.append(text, plain);
    out.push_back('"');
}

}  // namespace

void append_json(std::string& out, log::TopicPartition where, const core::RecordView& record,
                 const RecordJsonOptions& options) {
    out += "{\"topic\":";
    append_text(out, where.topic.name());
    out += ",\"partition\":";
    out += std::to_string(where.partition);
    out += ",\"offset\":";
    out += std::to_string(record.offset);
    out += ",\"time\":";
    out += std::to_string(record.time.time_since_epoch().count());
    out += ",\"key\":";
    append_text(out, record.key);
    out += ",\"bytes\":";
    out += record.value ? std::to_string(record.value->size()) : "null";
    out += ",\"headers\":{";
    bool first = true;
    for (const auto& header : record.headers) {
        if (!first) out.push_back(',');
        first = false;
        append_text(out, header.name);
        out.push_back(':');
        append_text(out, header.value);
    }
    out.push_back('}');
    if (options.values && record.value) {
        out += ",\"value\":\"";
        core::append_base64url(out, *record.value);
        out.push_back('"');
    }
    out += "}\n";
}

using std::chrono::milliseconds;

namespace {

constexpr std::size_t kHexSize = 32;

}  // namespace

std::vector<log::TopicPartition> partitions_of(const Selection& selection,
                                               core::Partition partitions) {
    std::vector<log::TopicPartition> out;
    for (const auto topic : selection.topics) {
        if (selection.partition) {
            out.push_back({topic, *selection.partition});
        } else if (selection.client) {
            out.push_back({topic, core::partition_of(*selection.client, partitions)});
        } else {
            const auto all = log::all_of(topic, partitions);
            out.insert(out.end(), all.begin(), all.end());
        }
    }
    return out;
}

core::Result<std::vector<SelectedRange>> ranges_of(log::EventLog& log, const Selection& selection,
                                                   core::Partition partitions,
                                                   milliseconds timeout) {
    const auto wanted = partitions_of(selection, partitions);
    const auto ends = log::ends_of(log, wanted, timeout);
    if (!ends) return core::fail(ends.error());
    if (ends->empty()) {
        return core::fail(core::Fault::not_found,
                          "no such partition of the log topic " + wanted.front().topic.name());
    }
    std::vector<SelectedRange> out;
    for (const auto& where : wanted) {
        const auto found = ends->find(where);
        if (found == ends->end()) continue;
        const auto& at = found->second;
        SelectedRange range{.where = where,
                            .from = std::max(selection.from, at.start),
                            .until = std::min(selection.until, at.end)};
        if (selection.since) {
            const auto from = log::offset_at(log, where, *selection.since, timeout);
            if (!from) return core::fail(from.error());
            range.from = std::max(range.from, *from);
        }
        if (range.from < range.until) out.push_back(range);
    }
    return out;
}

Filter::Filter(Selection selection)
    : selection_(std::move(selection)),
      client_(selection_.client ? core::to_hex(*selection_.client) : ""),
      channel_(selection_.channel ? core::to_dashed(*selection_.channel) : ""),
      message_(selection_.message ? core::to_hex(*selection_.message) : "") {}

bool Filter::admits(const RecordView& record) {
    if (selection_.since && record.time < *selection_.since) return false;
    if (is_past(record)) return false;
    if (!selection_.key.empty() && record.key != selection_.key) return false;
    if (!client_.empty() && !record.key.starts_with(client_)) return false;
    if (!message_.empty() &&
        (record.key.size() != 2 * kHexSize + 1 || record.key.substr(kHexSize + 1) != message_)) {
        return false;
    }
    return channel_.empty() || names_channel(record);
}

bool Filter::names_channel(const RecordView& record) {
    // In `subscriptions`.
    if (record.key.ends_with(channel_) || (!record.value && record.key == client_)) return true;
    if (record.header(core::header::kSubject) == channel_) {
        if (keys_.size() < kKeysMax) keys_.emplace(record.key);
        return true;
    }
    return !record.value && keys_.erase(std::string{record.key}) > 0;
}

}  // namespace beckon::tools
