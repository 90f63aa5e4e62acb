// How fast milestones are folded: a million tracked messages, each with the life of one that was
// delivered at once, in the three records that endpoint and edge write of it, folded into the
// store of the role and committed as it does. Says the rate, and fails below the one promised.
#include "core/clock.hpp"
#include "reliability/home/milestone_home.hpp"
#include "reliability/home/partition_rows.hpp"
#include "support/cpu_time.hpp"
#include "support/record_view.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

using namespace beckon;
using namespace reliability;

namespace {

constexpr std::size_t kMessages = 1'000'000;
constexpr double kWantedPerSecond = 200'000;
/// As the home does it; by this thread's CPU time, so that a busy machine commits as often.
constexpr std::chrono::seconds kCommitEvery{1};
/// Records between two looks at the clock, which is a system call.
constexpr core::Offset kPollEvery = 1'000;
/// So many messages are under way at the same time, so that a history's records are apart.
constexpr std::size_t kUnderWay = 50'000;
const Timestamp kStart{std::chrono::milliseconds{1'790'000'000'000}};

const std::vector<std::vector<Milestone>> kRecords{
    {Milestone::received},
    {Milestone::int_transmitted, Milestone::int_accepted, Milestone::transmitted,
     Milestone::accepted},
    {Milestone::delivered},
};
constexpr std::size_t kMilestonesOfOne = 6;

std::string id_of(std::size_t number) {
    std::array<char, 33> text{};
    std::snprintf(text.data(), text.size(), "%016zx%016zx", number * 0x9e3779b97f4a7c15U, number);
    return text.data();
}

/// The records of the log, one after the other.
class Source {
public:
    explicit Source(std::size_t messages) : messages_(messages) {}

    /// Encodes the next block of records into memory.
    std::vector<core::Record> block() {
        std::vector<core::Record> records;
        const auto end = std::min(begin_ + kUnderWay, messages_);
        for (const auto& milestones : kRecords) {
            for (auto number = begin_; number < end; ++number) {
                MilestonesReached event{.id = id_of(number),
                                        .expires = kStart + std::chrono::hours{1},
                                        .source = "0123456789abcdef",
                                        .reached = {}};
                for (const auto milestone : milestones) {
                    event.reached.push_back({milestone, kStart});
                }
                records.push_back(encode(event));
            }
        }
        begin_ = end;
        return records;
    }
    bool more() const { return begin_ < messages_; }

private:
    const std::size_t messages_;
    std::size_t begin_ = 0;
};

[[noreturn]] void give_up(const core::Error& error) {
    std::fprintf(stderr, "reliability_bench: %s\n", error.message.c_str());
    std::exit(1);
}

/// The time for folding and committing.
struct Spent {
    core::Duration wall{};
    core::Duration cpu{};  ///< of the folding thread; RocksDB's own threads come on top
};

/// Folds all records.
Spent fold_all(PartitionRows& rows, std::size_t messages) {
    const core::SystemClock clock;
    PartitionFold fold{[&](std::string_view id) { return rows.find(id); }};
    Source source{messages};
    core::Offset offset = 0;
    Spent spent;
    auto committed = test::thread_cpu_time();
    const auto commit = [&] {
        const auto written = rows.commit(fold, {.next = offset, .caught_up = kStart});
        if (!written) give_up(written.error());
        committed = test::thread_cpu_time();
    };
    const auto due = [&] {
        if (fold.changes().size() >= MilestoneHome::kChangesMax) return true;
        return offset % kPollEvery == 0 && test::thread_cpu_time() - committed >= kCommitEvery;
    };
    const auto measured = [&](const auto& work) {
        const Spent before{clock.mono().time_since_epoch(), test::thread_cpu_time()};
        work();
        spent.wall += clock.mono().time_since_epoch() - before.wall;
        spent.cpu += test::thread_cpu_time() - before.cpu;
    };
    while (source.more()) {
        const auto pause = test::thread_cpu_time();
        const auto records = source.block();  // making them is the writers' cost
        committed += test::thread_cpu_time() - pause;
        measured([&] {
            for (const auto& record : records) {
                fold.fold(*test::ReadBack{record, offset++, kStart});
                if (due()) commit();
            }
        });
    }
    measured(commit);
    if (fold.totals().counts(kStart)[Milestone::delivered] != messages) {
        std::fprintf(stderr, "reliability_bench: not every message is counted as delivered\n");
        std::exit(1);
    }
    return spent;
}

std::size_t number_of(std::string_view text) {
    std::size_t number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{} || end != text.data() + text.size() || number == 0) {
        std::fprintf(stderr, "usage: reliability_bench [JSON-FILE [MESSAGES]]\n");
        std::exit(2);
    }
    return number;
}

}  // namespace

int main(int argc, char** argv) {
    const auto messages = argc > 2 ? number_of(argv[2]) : kMessages;
    const auto directory = std::filesystem::temp_directory_path() /
                           ("beckon-reliability-bench-" + std::to_string(getpid()));
    Spent spent;
    {
        const auto store = MilestoneStore::open(
            {.directory = directory, .log_id = "bench", .partitions = 1, .memory = {}});
        if (!store) give_up(store.error());
        const auto rows = (*store)->partition(0);
        spent = fold_all(*rows, messages);
    }
    std::filesystem::remove_all(directory);
    const auto milestones = static_cast<double>(messages * kMilestonesOfOne);
    const auto seconds = std::chrono::duration<double>(spent.wall).count();
    const auto cpu_seconds = std::chrono::duration<double>(spent.cpu).count();
    const double rate = milestones / seconds;
    std::printf("folded %zu tracked messages, %.0f milestones in %.2f s: %.0f milestones/s\n",
                messages, milestones, seconds, rate);
    std::printf("CPU time of the folding thread: %.2f s, %.0f milestones a second of it\n",
                cpu_seconds, milestones / cpu_seconds);
    if (argc > 1) {
        std::ofstream{argv[1]} << "{\"messages\": " << messages
                               << ", \"milestones\": " << milestones << ", \"seconds\": " << seconds
                               << ", \"cpu_seconds\": " << cpu_seconds
                               << ", \"milestones_per_second\": " << rate << "}\n";
    }
    if (rate >= kWantedPerSecond) return 0;
    std::fprintf(stderr, "reliability_bench: wanted at least %.0f milestones/s\n",
                 kWantedPerSecond);
    return 1;
}
