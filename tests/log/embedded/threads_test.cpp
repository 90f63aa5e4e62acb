#include "log/contract_support.hpp"
#include "log/embedded/embedded_under_test.hpp"

#include <atomic>
#include <map>
#include <thread>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using log::Topic;
using log::TopicPartition;

namespace {

constexpr int kPublishers = 2;
constexpr int kReaders = 3;
constexpr int kEach = 5'000;
constexpr int kPartitions = 2;

/// Publishes its numbers on a thread of its own, some at a time.
void publish_numbers(log::EventLog& log, int who, std::atomic<int>& faults) {
    WaitingExecutor executor;
    const auto publisher = log.open_publisher(executor);
    int done = 0;
    for (int i = 0; i < kEach; ++i) {
        publisher->publish({Topic::kNotifications, i % kPartitions},
                           record(std::to_string(who), std::to_string(i)), [&](const auto& result) {
                               if (!result) ++faults;
                               ++done;
                           });
        if (publisher->unanswered() > 200) executor.wait_until([&] { return done > i - 100; });
    }
    if (!executor.wait_until([&] { return done == kEach; })) ++faults;
}

/// Reads everything on a thread of its own; faults are numbers out of order.
void read_numbers(log::EventLog& log, std::atomic<int>& faults) {
    WaitingExecutor executor;
    std::map<std::pair<std::string, int>, int> last;  ///< of each publisher and partition
    int seen = 0;
    std::vector<std::unique_ptr<log::PartitionReader>> readers(kPartitions);
    for (int p = 0; p < kPartitions; ++p) {
        auto& reader = readers[static_cast<std::size_t>(p)];
        reader = log.open_reader({Topic::kNotifications, p}, 0, executor, [&, p] {
            for (bool drained = false; !drained;) {
                const auto taken = reader->take(37, [&](const core::RecordView& view) {
                    auto& before =
                        last.try_emplace({std::string{view.key}, p}, p - kPartitions).first->second;
                    const auto number = std::stoi(std::string{view.value.value_or("-1")});
                    if (number != before + kPartitions) ++faults;
                    before = number;
                    ++seen;
                });
                if (!taken) ++faults;
                drained = !taken || taken->drained;
            }
        });
    }
    if (!executor.wait_until([&] { return seen == kPublishers * kEach; })) ++faults;
}

}  // namespace

TEST_CASE("publishers and readers on threads of their own see every record once, in order") {
    // Little stays in memory: a reader that falls behind goes to the disk and comes back.
    EmbeddedUnderTest log{[](log::EmbeddedConfig& c) { c.tail_bytes = 4'000; }};
    std::atomic<int> faults = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kPublishers; ++i) {
        threads.emplace_back([&, i] { publish_numbers(log.log(), i, faults); });
    }
    for (int i = 0; i < kReaders; ++i) {
        threads.emplace_back([&] { read_numbers(log.log(), faults); });
    }
    for (auto& thread : threads) thread.join();
    CHECK(faults == 0);
}
