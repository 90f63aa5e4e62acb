// When a batch of puts closes: by itself, and in a simulation of senders, a log and a stage behind
// it that share processors.
#include "log/batching.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using log::Batching;
using log::SteadyTime;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const SteadyTime kBegin = SteadyTime{} + seconds{1000};

/// What one message and one batch cost, and who sends.
struct Machine {
    int processors = 2;
    microseconds sending{25};       ///< of the senders, for a message
    microseconds accepting{40};     ///< of the endpoint, for a message
    microseconds writing{60};       ///< of the writer, for a batch
    microseconds syncing{200};      ///< of the disk, for a batch
    microseconds reading_each{30};  ///< of the stage behind, for a message
    microseconds reading{250};      ///< for a batch
    int slower = 1;                 ///< all of these, so many times
};

struct Load {
    std::size_t closed = 0;      ///< senders that send again after their answer
    std::size_t per_second = 0;  ///< messages of senders that do not wait
};

struct Outcome {
    double per_second = 0;  ///< messages that were answered
    double per_batch = 0;
    milliseconds frame_p99{};   ///< from the answer until the stage behind has the message
    microseconds waited_p50{};  ///< from the put until its batch began
    double busy = 0;            ///< share of the processors that was used
};

/// A few seconds of a log: `wait` false takes the wait for the stage behind out.
class Simulation {
public:
    Simulation(const Machine& machine, const Load& load, bool wait)
        : machine_(machine), load_(load), wait_(wait) {}

    Outcome run() {
        for (std::size_t i = 0; i < load_.closed; ++i) send(true);
        if (load_.per_second > 0) send_open();
        while (!events_.empty() && events_.top().time < kBegin + kFor) {
            const auto event = events_.top();
            events_.pop();
            now_ = event.time;
            event.run();
        }
        return outcome();
    }

private:
    static constexpr seconds kFor{4};
    static constexpr std::size_t kConnections = 2'048;  ///< of senders at a rate
    static constexpr milliseconds kSleeperBonus{3};

    struct Event {
        SteadyTime time;
        std::uint64_t number;
        std::function<void()> run;
        bool operator<(const Event& other) const {
            return time != other.time ? time > other.time : number > other.number;
        }
    };
    struct Put {
        SteadyTime since;
        bool closed;
    };
    struct Task {
        microseconds needs;
        std::function<void()> then;
    };
    /// As a fair scheduler has them: of those that have something to do, the one that had least is
    /// next.
    struct Thread {
        std::deque<Task> tasks;
        SteadyTime::duration had{};
        bool runs = false;
    };
    enum Who { kEndpoint, kOtherEndpoint, kSenders, kWriter, kShard, kOtherShard, kThreads };

    void at(SteadyTime time, std::function<void()> run) {
        events_.push({time, number_++, std::move(run)});
    }

    void compute(Who who, microseconds needs, std::function<void()> then) {
        auto& thread = threads_[who];
        if (thread.tasks.empty()) {  // it has slept: it saved nothing up
            auto least = SteadyTime::duration::max();
            for (const auto& other : threads_) {
                if (!other.tasks.empty()) least = std::min(least, other.had);
            }
            if (least != SteadyTime::duration::max())
                thread.had = std::max(thread.had, least - kSleeperBonus);
        }
        thread.tasks.push_back({needs * machine_.slower, std::move(then)});
        dispatch();
    }
    void dispatch() {
        while (running_ < machine_.processors) {
            Thread* next = nullptr;
            for (auto& thread : threads_) {
                if (!thread.runs && !thread.tasks.empty() && (!next || thread.had < next->had))
                    next = &thread;
            }
            if (!next) return;
            next->runs = true;
            ++running_;
            const auto needs = next->tasks.front().needs;
            used_ += needs;
            next->had += needs;
            at(now_ + needs, [this, next] {
                const auto then = std::move(next->tasks.front().then);
                next->tasks.pop_front();
                next->runs = false;
                --running_;
                then();
                dispatch();
            });
        }
    }

    void send(bool closed) {
        compute(kSenders, machine_.sending, [this, closed] {
            compute(++sent_ % 2 == 0 ? kEndpoint : kOtherEndpoint, machine_.accepting,
                    [this, closed] { put(closed); });
        });
    }
    /// Of so many connections, each of which waits for its answer.
    void send_open() {
        std::exponential_distribution<double> next{static_cast<double>(load_.per_second)};
        at(now_ + std::chrono::duration_cast<SteadyTime::duration>(
                      std::chrono::duration<double>{next(random_)}),
           [this] {
               ++wanted_;
               send_wanted();
               send_open();
           });
    }
    void send_wanted() {
        while (wanted_ > 0 && unanswered_ < kConnections) {
            --wanted_;
            ++unanswered_;
            send(false);
        }
    }
    void put(bool closed) {
        queue_.push_back({now_, closed});
        consider();
    }

    /// The writer looks whether a batch begins.
    void consider() {
        if (writing_ || queue_.empty()) return;
        const bool room = unfinished_.size() <= 1 || !wait_;
        if (!batching_.closes(room, now_)) {
            if (!std::exchange(waits_, true)) at(batching_.due(), [this] { consider(); });
            return;
        }
        batching_.begun(room, std::exchange(waits_, false), now_);
        writing_ = true;
        const auto count = std::min(queue_.size(), batching_.records_max());
        std::vector<Put> batch(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
        queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
        for (const auto& one : batch) waited_.push_back(now_ - one.since);
        compute(kWriter, machine_.writing, [this, batch = std::move(batch)] {
            at(now_ + machine_.syncing * machine_.slower, [this, batch] { written(batch); });
        });
    }
    void written(const std::vector<Put>& batch) {
        writing_ = false;
        ++batches_;
        answered_ += batch.size();
        unfinished_[batches_] = 2;
        read(kShard, batch.size() / 2);
        read(kOtherShard, batch.size() - batch.size() / 2);
        for (const auto& one : batch) {
            if (one.closed) {
                send(true);
            } else {
                --unanswered_;
            }
        }
        send_wanted();
        batching_.written(now_);
        consider();
    }

    void read(Who who, std::size_t count) {
        compute(who, machine_.reading / 2 + machine_.reading_each * static_cast<int>(count),
                [this, count, since = now_, batch = batches_] {
                    frames_.insert(frames_.end(), count, now_ - since);
                    if (--unfinished_[batch] == 0) unfinished_.erase(batch);
                    consider();
                });
    }

    template <class Unit>
    static Unit percentile(std::vector<SteadyTime::duration>& of, double share) {
        if (of.empty()) return {};
        std::sort(of.begin(), of.end());
        return std::chrono::duration_cast<Unit>(
            of[static_cast<std::size_t>(share * static_cast<double>(of.size() - 1))]);
    }
    Outcome outcome() {
        const auto lasted = std::chrono::duration<double>{kFor}.count();
        // What the stage behind has not done yet is late, too.
        return {
            .per_second = static_cast<double>(answered_) / lasted,
            .per_batch = static_cast<double>(answered_) /
                         static_cast<double>(std::max<std::size_t>(batches_, 1)),
            .frame_p99 = percentile<milliseconds>(frames_, 0.99),
            .waited_p50 = percentile<microseconds>(waited_, 0.5),
            .busy = std::chrono::duration<double>{used_}.count() / lasted / machine_.processors};
    }

    const Machine machine_;
    const Load load_;
    const bool wait_;
    SteadyTime now_ = kBegin;
    std::priority_queue<Event> events_;
    std::uint64_t number_ = 0;
    std::mt19937_64 random_{7};
    std::array<Thread, kThreads> threads_;
    int running_ = 0;
    SteadyTime::duration used_{};

    Batching batching_;
    std::deque<Put> queue_;
    bool writing_ = false;
    bool waits_ = false;
    std::map<std::size_t, int> unfinished_;  ///< parts of batches that the stage behind has
    std::uint64_t sent_ = 0;
    std::size_t wanted_ = 0;      ///< messages whose time has come
    std::size_t unanswered_ = 0;  ///< of senders at a rate
    std::size_t batches_ = 0;
    std::size_t answered_ = 0;
    std::vector<SteadyTime::duration> waited_;
    std::vector<SteadyTime::duration> frames_;
};

Outcome run(const Load& load, const Machine& machine = {}, bool wait = true) {
    return Simulation{machine, load, wait}.run();
}

}  // namespace

TEST_CASE("a batch closes when the stage behind has room, and after its bound", "[batching]") {
    Batching batching;
    batching.written(kBegin);
    CHECK(batching.closes(true, kBegin));
    CHECK_FALSE(batching.closes(false, kBegin));
    CHECK_FALSE(batching.closes(false, batching.due() - microseconds{1}));
    CHECK(batching.closes(false, batching.due()));
    CHECK(batching.due() == kBegin + Batching::kWaitMax);
}

TEST_CASE("a stage that is quick gets larger batches, and one that is slow smaller ones",
          "[batching]") {
    Batching batching;
    batching.written(kBegin);
    const auto quick = kBegin + milliseconds{5};
    for (int i = 0; i < 20; ++i) batching.begun(true, false, quick);
    CHECK(batching.records_max() == Batching::kRecordsLeast);  // nothing waited for it
    for (int i = 0; i < 20; ++i) batching.begun(true, true, quick);
    CHECK(batching.records_max() == Batching::kRecordsMost);
    batching.begun(true, true, kBegin + milliseconds{75});
    CHECK(batching.records_max() == Batching::kRecordsMost);
    for (int i = 0; i < 20; ++i) batching.begun(false, true, batching.due());
    CHECK(batching.records_max() == Batching::kRecordsLeast);
}

TEST_CASE("frames follow their answers within a quarter of a second at every load", "[batching]") {
    const auto slower = GENERATE(1, 10);
    const auto senders = GENERATE(as<std::size_t>{}, 1, 8, 64, 256, 1'024, 4'096);
    const Machine machine{.slower = slower};
    CAPTURE(slower, senders);
    CHECK(run({.closed = senders}, machine).frame_p99 < milliseconds{250});
    const auto open = run({.per_second = 10 * senders}, machine);
    CHECK(open.frame_p99 < milliseconds{250});
}

TEST_CASE(
    "without the wait for the stage behind, batches are small and frames late under an overload",
    "[batching]") {
    const Load overload{.per_second = 30'000};
    const auto with = run(overload);
    const auto without = run(overload, {}, false);
    CAPTURE(with.per_second, with.per_batch, with.frame_p99.count(), without.per_second,
            without.per_batch, without.frame_p99.count());
    CHECK(with.frame_p99 < milliseconds{250});
    CHECK(with.per_batch > without.per_batch);
    CHECK(without.frame_p99 > 2 * with.frame_p99);
}

TEST_CASE("senders that wait for their answers lose nothing by it", "[batching]") {
    const auto slower = GENERATE(1, 10);
    const auto senders = GENERATE(as<std::size_t>{}, 1, 2, 8, 16, 64, 256, 1'024);
    const Machine machine{.slower = slower};
    const auto with = run({.closed = senders}, machine);
    const auto without = run({.closed = senders}, machine, false);
    CAPTURE(slower, senders, with.per_second, with.per_batch, with.busy, without.per_second,
            without.per_batch, without.busy);
    // Without the wait, senders may get their answers by taking the processors from the stage
    // behind.
    const bool delivers = without.frame_p99 < milliseconds{250};
    CHECK(with.per_second > (delivers ? 0.97 : 0.85) * without.per_second);
}

TEST_CASE("a put waits for nobody where there is a processor to spare", "[batching]") {
    const auto per_second = GENERATE(as<std::size_t>{}, 100, 500, 1'000);
    const auto with = run({.per_second = per_second});
    const auto without = run({.per_second = per_second}, {}, false);
    CAPTURE(per_second, with.waited_p50.count(), without.waited_p50.count(), with.busy);
    CHECK(with.waited_p50 <= without.waited_p50 + microseconds{50});
}
