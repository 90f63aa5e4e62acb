#include "fold/read_barrier.hpp"

#include "records/events.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using beckon::core::Fault;
using beckon::core::Offset;
using beckon::core::Record;
using beckon::core::Result;
using beckon::fold::ReadBarrier;
using beckon::log::Topic;
using beckon::log::TopicPartition;

namespace {

const TopicPartition kWhere{Topic::kSubscriptions, 1};

/// Memory ends at the next publishes.
class ThrowingPublisher final : public beckon::log::Publisher {
public:
    explicit ThrowingPublisher(std::unique_ptr<beckon::log::Publisher> real)
        : real_(std::move(real)) {}
    void publish(TopicPartition where, Record record, beckon::log::AppendDone done) override {
        if (throws > 0) {
            --throws;
            throw std::bad_alloc{};
        }
        real_->publish(where, std::move(record), std::move(done));
    }
    std::size_t unanswered() const override { return real_->unanswered(); }
    int throws = 0;

private:
    const std::unique_ptr<beckon::log::Publisher> real_;
};

/// A partition with a reader that folds by counting, and its read barrier.
struct Fixture {
    beckon::test::ManualClock clock;
    beckon::test::SimExecutor executor{clock};
    std::unique_ptr<beckon::log::MemoryLog> log = beckon::log::make_memory_log(
        {.seed = 1, .partitions = 4, .clock = &clock, .append_delay_max = 10ms});
    std::unique_ptr<ThrowingPublisher> publisher =
        std::make_unique<ThrowingPublisher>(log->open_publisher(executor));
    ReadBarrier barrier{kWhere, {"0123456789abcdef"}, *publisher, executor};
    std::unique_ptr<beckon::log::PartitionReader> reader =
        log->open_reader(kWhere, 0, executor, [this] { read(); });
    std::vector<std::string> keys;     ///< read so far
    std::vector<std::string> answers;  ///< "ok" or the fault, in order
    std::vector<std::size_t> seen;     ///< records that the fold had passed at each answer

    void read() {
        while (true) {
            const auto taken =
                reader->take(100, [this](const auto& record) { keys.emplace_back(record.key); });
            if (!taken || taken->drained) break;
        }
        barrier.passed(reader->position());
    }
    void ask() {
        barrier.ask([this](const Result<void>& result) {
            answers.push_back(result ? "ok" : std::string{to_string(result.error().fault)});
            seen.push_back(keys.size());
        });
    }
    void publish(const std::string& key) {
        publisher->publish(kWhere, Record{key, "x", {}}, [](const auto&) {});
    }
    std::size_t barriers_in_log() const {
        std::size_t count = 0;
        for (const auto& stored : log->records(kWhere)) {
            if (beckon::core::is_control_key(stored.record.key)) ++count;
        }
        return count;
    }
};

}  // namespace

TEST_CASE("an answer comes only when all that stood in the log before it was folded") {
    Fixture f;
    for (int i = 0; i < 5; ++i) f.publish("k" + std::to_string(i));
    f.ask();
    CHECK(f.answers.empty());  // never from within
    f.executor.run_for(1s);
    CHECK(f.answers == std::vector<std::string>{"ok"});
    CHECK(f.seen == std::vector<std::size_t>{6});  // the five and the read barrier itself
}

TEST_CASE("a query never uses a read barrier that was published before it") {
    Fixture f;
    f.log->hold_readers(kWhere, true);
    f.ask();
    f.executor.run_for(100ms);  // the first read barrier is in the log, not read
    f.publish("between");
    f.executor.run_for(100ms);
    f.ask();
    f.log->hold_readers(kWhere, false);
    f.executor.run_for(100ms);
    CHECK(f.answers == std::vector<std::string>{"ok", "ok"});
    CHECK(f.barriers_in_log() == 2);
    CHECK(f.seen == std::vector<std::size_t>{2, 3});
}

TEST_CASE("at most one read barrier is under way, and queries collect for the next") {
    Fixture f;
    f.log->hold_readers(kWhere, true);
    for (int i = 0; i < 50; ++i) f.ask();
    f.executor.run_for(100ms);
    CHECK(f.barriers_in_log() == 1);  // the first query's; 49 are collecting
    CHECK(f.barrier.unanswered() == 50);
    f.log->hold_readers(kWhere, false);
    f.executor.run_for(100ms);
    CHECK(f.barriers_in_log() == 2);
    CHECK(f.answers == std::vector<std::string>(50, "ok"));
}

TEST_CASE(
    "a read barrier that is not read back in time fails its queries, and the next one works") {
    Fixture f;
    f.log->hold_readers(kWhere, true);
    f.ask();
    f.executor.run_for(beckon::fold::kAnswerTimeout - 1ms);
    CHECK(f.answers.empty());
    f.executor.run_for(2ms);
    CHECK(f.answers == std::vector<std::string>{"timed_out"});
    f.log->hold_readers(kWhere, false);
    f.ask();
    f.executor.run_for(1s);
    CHECK(f.answers == std::vector<std::string>{"timed_out", "ok"});
}

TEST_CASE("a read barrier that cannot be published fails its queries") {
    Fixture f;
    f.log->fail_next_publishes(1);
    f.ask();
    f.executor.run_for(1s);
    CHECK(f.answers == std::vector<std::string>{"unavailable"});
}

TEST_CASE(
    "a lost report of a read barrier is a failure even though the read barrier is read back") {
    Fixture f;
    f.log->lose_next_answers(1);
    f.ask();
    f.executor.run_for(1s);
    CHECK(f.barriers_in_log() == 1);
    CHECK(f.answers == std::vector<std::string>{"unavailable"});
}

TEST_CASE("queries that are refused are answered once, and the next one works") {
    Fixture f;
    f.log->hold_readers(kWhere, true);
    f.ask();
    f.executor.run_for(100ms);
    f.ask();
    f.barrier.refuse_all({Fault::unavailable, "made up"});
    CHECK(f.answers == std::vector<std::string>{"unavailable", "unavailable"});
    f.log->hold_readers(kWhere, false);
    f.executor.run_for(5s);  // the refused read barrier is read back, and its timer comes
    CHECK(f.answers.size() == 2);
    f.ask();
    f.executor.run_for(1s);
    CHECK(f.answers.size() == 3);
    CHECK(f.answers.back() == "ok");
}

TEST_CASE("publishing may throw: the query is answered, and the next one works") {
    Fixture f;
    f.publisher->throws = 1;
    CHECK_THROWS_AS(f.ask(), std::bad_alloc);
    f.executor.run_for(3s);
    CHECK(f.answers == std::vector<std::string>{"timed_out"});
    f.ask();
    f.ask();
    f.publisher->throws = 1;  // for the second one
    f.executor.run_for(3s);
    CHECK(f.answers == std::vector<std::string>{"timed_out", "ok", "timed_out"});
    f.ask();
    f.executor.run_for(1s);
    CHECK(f.answers.back() == "ok");
}

TEST_CASE("an answer that throws keeps no other one back") {
    Fixture f;
    f.ask();
    f.barrier.ask([](const auto&) { throw std::bad_alloc{}; });
    f.ask();
    f.executor.run_for(1s);
    CHECK(f.answers == std::vector<std::string>{"ok", "ok"});
}

TEST_CASE("an answer may destroy its read barrier") {
    Fixture f;
    auto barrier =
        std::make_unique<ReadBarrier>(kWhere, beckon::core::NodeId{"n"}, *f.publisher, f.executor);
    bool answered = false;
    barrier->ask([&](const auto&) {
        barrier.reset();
        answered = true;
    });
    f.executor.run_for(100ms);
    if (barrier) barrier->passed(f.reader->position());
    CHECK(answered);
    f.executor.run_for(5s);  // its timer finds nobody
}
