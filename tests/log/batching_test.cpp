// When a batch of puts closes, and how long it lingers: by themselves, and in a simulation of
// senders, a log and a stage behind it that share processors.
#include "log/batching/batching.hpp"

#include "log/batching/linger.hpp"
#include "log/batching/processors.hpp"
#include "log/batching/senders.hpp"
#include "log/simulated_machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using log::Batching;
using log::BatchSize;
using log::Linger;
using log::Processors;
using log::Senders;
using log::SteadyTime;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Arrivals;
using test::Load;
using test::percentile;

namespace {

const SteadyTime kBegin = SteadyTime{} + seconds{1000};
constexpr milliseconds kWaitMax{100};
constexpr BatchSize::Bounds kSizes{.least = 256, .most = 4'096};

/// What one message and one batch cost, and who sends.
struct Machine {
    int processors = 2;
    microseconds sending{25};       ///< of the senders, for a message
    microseconds accepting{40};     ///< of the endpoint, for a message
    microseconds writing{60};       ///< of the writer, for a batch
    microseconds syncing{200};      ///< of the disk, for a batch
    microseconds reading_each{30};  ///< of the stage behind, for a message
    microseconds reading{250};      ///< for a batch
    double slower = 1;              ///< all of these, so many times
};

struct Outcome {
    double per_second = 0;  ///< messages that were answered
    double delivered_per_second = 0;
    double per_batch = 0;
    milliseconds frame_p99{};   ///< from the answer until the stage behind has the message
    microseconds waited_p50{};  ///< from the put until its batch began
    double busy = 0;            ///< share of the processors that was used
};

/// A few seconds of a log: `wait` false takes every wait out.
class Simulation {
public:
    Simulation(const Machine& machine, const Load& load, bool wait)
        : machine_(machine),
          wait_(wait),
          runs_(machine.processors, machine.slower),
          arrivals_(runs_, load, [this](std::size_t sender) { send(sender); }) {}

    Outcome run() {
        arrivals_.begin();
        measure();
        runs_.run_for(span());
        return outcome();
    }

private:
    /// A fast machine does much in a second.
    seconds span() const { return machine_.slower < 1 ? seconds{2} : seconds{5}; }
    static constexpr std::size_t kFull = 3;  ///< unread batches

    struct Put {
        SteadyTime since;
        std::size_t sender;
    };
    enum Who : std::size_t {
        kEndpoint,
        kOtherEndpoint,
        kSenders,
        kWriter,
        kShard,
        kOtherShard,
        kThreads
    };

    void send(std::size_t sender) {
        runs_.compute(kSenders, machine_.sending, [this, sender] {
            runs_.compute(++sent_ % 2 == 0 ? kEndpoint : kOtherEndpoint, machine_.accepting,
                          [this, sender] { put(sender); });
        });
    }
    void put(std::size_t sender) {
        senders_.sent(arrivals_.connection(sender));
        queue_.push_back({runs_.now(), sender});
        consider();
    }
    void measure() {
        runs_.at(runs_.now() + Linger::kSpan, [this, used = runs_.used()] {
            const std::chrono::duration<double> busy = runs_.used() - used;
            const std::chrono::duration<double> all = machine_.processors * Linger::kSpan;
            linger_.measured({.idle = 1 - busy / all, .own = 1});
            measure();
        });
    }

    /// The writer looks whether a batch begins.
    void consider() {
        if (writing_ || queue_.empty()) return;
        const auto now = runs_.now();
        const Batching next{.since = written_,
                            .wait_max = kWaitMax,
                            .linger = linger_.now(),
                            .others_could_join = senders_.others_could_join(now),
                            .stage_has_room = unfinished_.size() <= 1,
                            .stage_is_full = unfinished_.size() > kFull};
        if (wait_ && !next.closes(now)) {
            waits_ = true;
            if (looks_at_ > now && looks_at_ <= next.due()) return;
            looks_at_ = next.due();
            return runs_.at(looks_at_, [this] { consider(); });
        }
        if (std::exchange(waits_, false)) {
            size_.waited(now - written_, now < written_ + kWaitMax);
        }
        writing_ = true;
        const auto count = std::min(queue_.size(), size_.max());
        std::vector<Put> batch(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
        queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
        for (const auto& one : batch) waited_.push_back(runs_.now() - one.since);
        runs_.compute(kWriter, machine_.writing, [this, batch = std::move(batch)] {
            runs_.at(runs_.now() + runs_.scaled(machine_.syncing),
                     [this, batch] { written(batch); });
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
            senders_.answered();
            arrivals_.answered(one.sender);
        }
        written_ = runs_.now();
        consider();
    }
    void read(Who who, std::size_t count) {
        runs_.compute(who, machine_.reading / 2 + machine_.reading_each * static_cast<int>(count),
                      [this, count, since = runs_.now(), batch = batches_] {
                          frames_.insert(frames_.end(), count, runs_.now() - since);
                          if (--unfinished_[batch] == 0) unfinished_.erase(batch);
                          consider();
                      });
    }

    Outcome outcome() {
        const auto lasted = std::chrono::duration<double>{span()}.count();
        return {.per_second = static_cast<double>(answered_) / lasted,
                .delivered_per_second = static_cast<double>(frames_.size()) / lasted,
                .per_batch = static_cast<double>(answered_) /
                             static_cast<double>(std::max<std::size_t>(batches_, 1)),
                .frame_p99 = percentile<milliseconds>(frames_, 0.99),
                .waited_p50 = percentile<microseconds>(waited_, 0.5),
                .busy = std::chrono::duration<double>{runs_.used()}.count() / lasted /
                        machine_.processors};
    }

    const Machine machine_;
    const bool wait_;
    test::SimulatedMachine<kThreads> runs_;
    Arrivals<kThreads> arrivals_;

    Linger linger_{kWaitMax};
    Senders senders_;
    BatchSize size_{kSizes, kWaitMax};
    std::deque<Put> queue_;
    SteadyTime written_{};
    SteadyTime looks_at_{};
    bool writing_ = false;
    bool waits_ = false;
    std::map<std::size_t, int> unfinished_;  ///< parts of batches that the stage behind has
    std::uint64_t sent_ = 0;
    std::size_t batches_ = 0;
    std::size_t answered_ = 0;
    std::vector<SteadyTime::duration> waited_;
    std::vector<SteadyTime::duration> frames_;
};

Outcome run(const Load& load, const Machine& machine = {}, bool wait = true) {
    return Simulation{machine, load, wait}.run();
}

/// So many senders send, each once.
void send(Senders& senders, const std::vector<int>& connections, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) senders.sent(&connections[i]);
}

}  // namespace

// --- when a batch closes

TEST_CASE("a batch closes when the stage behind has room, after its linger, and at its bound",
          "[batching]") {
    const Batching waits{.since = kBegin, .wait_max = kWaitMax, .linger = milliseconds{5}};
    CHECK_FALSE(waits.closes(kBegin));
    CHECK_FALSE(waits.closes(kBegin + milliseconds{5} - microseconds{1}));
    CHECK(waits.closes(kBegin + milliseconds{5}));
    CHECK(waits.due() == kBegin + milliseconds{5});
    auto room = waits;
    room.stage_has_room = true;
    CHECK(room.closes(kBegin));
    auto bound = waits;
    bound.linger = seconds{1};
    CHECK(bound.due() == kBegin + kWaitMax);
    CHECK(Batching{.since = kBegin, .wait_max = kWaitMax}.closes(kBegin));  // no linger, no wait
}

TEST_CASE("a batch closes when nobody is left who could join", "[batching]") {
    Batching all_wait{.since = kBegin, .wait_max = kWaitMax, .linger = milliseconds{50}};
    CHECK_FALSE(all_wait.closes(kBegin));
    all_wait.others_could_join = false;
    CHECK(all_wait.closes(kBegin));
}

TEST_CASE("a stage that is full is waited for in any case, until the bound", "[batching]") {
    const Batching full{
        .since = kBegin, .wait_max = kWaitMax, .others_could_join = false, .stage_is_full = true};
    CHECK_FALSE(full.closes(kBegin + kWaitMax - microseconds{1}));
    CHECK(full.due() == kBegin + kWaitMax);
    CHECK(full.closes(kBegin + kWaitMax));
}

TEST_CASE("a stage that is quick gets larger batches, and one that is slow smaller ones",
          "[batching]") {
    BatchSize size{kSizes, kWaitMax};
    CHECK(size.max() == kSizes.least);
    for (int i = 0; i < 20; ++i) size.waited(milliseconds{5}, true);
    CHECK(size.max() == kSizes.most);
    size.waited(milliseconds{75}, true);
    CHECK(size.max() == kSizes.most);
    for (int i = 0; i < 20; ++i) size.waited(kWaitMax, false);
    CHECK(size.max() == kSizes.least);
}

// --- who could join

TEST_CASE("senders that were active lately and do not wait could join", "[batching]") {
    Senders senders;
    const std::vector<int> connections(8);
    auto now = kBegin;
    CHECK_FALSE(senders.others_could_join(now));  // nobody is there
    send(senders, connections, 8);
    CHECK_FALSE(senders.others_could_join(now));
    senders.answered();
    senders.answered();
    CHECK_FALSE(senders.others_could_join(now));  // a quarter is not waited for
    senders.answered();
    CHECK(senders.others_could_join(now));
    senders.sent(&connections[0]);  // again: still eight
    CHECK_FALSE(senders.others_could_join(now));
}

TEST_CASE("a sender counts once in two spans, and not at all after them", "[batching]") {
    Senders senders;
    const std::vector<int> connections(8);
    auto now = kBegin;
    senders.others_could_join(now);
    for (int i = 0; i < 20; ++i) {
        send(senders, connections, 8);
        CHECK_FALSE(senders.others_could_join(now));
        for (int k = 0; k < 7; ++k) senders.answered();
        CHECK(senders.others_could_join(now));
        senders.answered();
        now += Senders::kSpan / 2;
        senders.others_could_join(now);
    }
    send(senders, connections, 1);
    CHECK(senders.others_could_join(now));
    now += Senders::kSpan;
    senders.others_could_join(now);
    now += Senders::kSpan;
    CHECK_FALSE(senders.others_could_join(now));  // the seven were active long ago
}

TEST_CASE("a silence is over at once for those who send then", "[batching]") {
    Senders senders;
    const std::vector<int> connections(4);
    send(senders, connections, 4);
    for (int i = 0; i < 4; ++i) senders.answered();
    const auto later = kBegin + seconds{60};
    CHECK_FALSE(senders.others_could_join(later));
    send(senders, connections, 1);
    CHECK_FALSE(senders.others_could_join(later));
}

// --- how long it lingers

TEST_CASE("a linger grows while processors are short, and shrinks to nothing when they are not",
          "[batching]") {
    Linger linger{milliseconds{20}};
    CHECK(linger.now() == milliseconds{0});
    linger.measured({.idle = 0.25, .own = 0.5});
    CHECK(linger.now() == milliseconds{0});
    linger.measured({.idle = 0.05, .own = 0.5});
    CHECK(linger.now() > milliseconds{0});
    CHECK(linger.now() <= milliseconds{1});
    for (int i = 0; i < 20; ++i) linger.measured({.idle = 0, .own = 0.5});
    CHECK(linger.now() == milliseconds{20});
    linger.measured({.idle = 0.25, .own = 0.5});
    CHECK(linger.now() < milliseconds{20});  // between the two: slowly
    CHECK(linger.now() > milliseconds{18});
    linger.measured({.idle = 0.35, .own = 0.5});
    CHECK(linger.now() < milliseconds{16});
    for (int i = 0; i < 30; ++i) linger.measured({.idle = 0.35, .own = 0.5});
    CHECK(linger.now() == milliseconds{0});
}

TEST_CASE("a linger that is longer than needed does not stay", "[batching]") {
    Linger linger{milliseconds{20}};
    for (int i = 0; i < 20; ++i) linger.measured({.idle = 0, .own = 0.5});
    for (int i = 0; i < 100; ++i) linger.measured({.idle = 0.22, .own = 0.5});
    CHECK(linger.now() == milliseconds{0});
}

TEST_CASE("spans that differ make a linger no longer than their average does", "[batching]") {
    Linger none{milliseconds{20}};
    Linger some{milliseconds{20}};
    for (int i = 0; i < 15; ++i) some.measured({.idle = 0.1, .own = 0.5});
    const auto before = some.now();
    for (int i = 0; i < 500; ++i) {
        for (const double off : {-0.16, 0.16}) {
            none.measured({.idle = Linger::kIdle + 0.04 + off, .own = 0.5});
            some.measured({.idle = Linger::kIdle + off, .own = 0.5});
        }
        REQUIRE(none.now() <= milliseconds{1});
        REQUIRE(some.now() > 0.95 * before);
        REQUIRE(some.now() < 1.05 * before);
    }
}

TEST_CASE("a linger that is not asked for some time is shorter by as much", "[batching]") {
    Linger linger{milliseconds{20}};
    for (int i = 0; i < 20; ++i) linger.measured({.idle = 0, .own = 0.5});
    linger.measured({.idle = 0.9, .own = 0.01}, 30);
    CHECK(linger.now() == milliseconds{0});
}

TEST_CASE("who uses little of a busy machine does not linger", "[batching]") {
    Linger linger{milliseconds{20}};
    for (int i = 0; i < 50; ++i) linger.measured({.idle = 0, .own = 0.06});
    CHECK(linger.now() == milliseconds{0});
    for (int i = 0; i < 20; ++i) linger.measured({.idle = 0, .own = 0.5});
    for (int i = 0; i < 30; ++i) linger.measured({.idle = 0, .own = 0.06});
    CHECK(linger.now() == milliseconds{0});  // the others came later
}

TEST_CASE("the kernel's counts of processors", "[batching]") {
    const auto ticks = Processors::parse_stat("cpu  100 20 30 400 50 6 7 8 0 0\ncpu0 1 2 3 4\n");
    CHECK(ticks.all == 621);
    CHECK(ticks.idle == 470);  // with those of lower priority, and that wait for a disk
    CHECK(Processors::parse_stat("").all == 0);
    CHECK(Processors::parse_stat("intr 5").all == 0);
    CHECK(Processors::parse_throttled("usage_usec 5\nnr_throttled 2\nthrottled_usec 12345\n") ==
          microseconds{12345});
    CHECK(Processors::parse_throttled("usage_usec 5\n") == microseconds{0});
}

TEST_CASE("a process that computes sees what it uses", "[batching]") {
    Processors processors;
    Processors::Load load;
    const auto until = std::chrono::steady_clock::now() + seconds{20};
    while (load.own == 0 && std::chrono::steady_clock::now() < until) {
        const auto begin = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() < begin + milliseconds{50}) {
        }
        load = processors.since_last();
    }
    CHECK(load.own > 0);
    CHECK(load.own <= 1.1);
    CHECK(load.idle >= 0);
    CHECK(load.idle <= 1);
}

// --- the simulation

TEST_CASE("frames follow their answers within a quarter of a second at every load", "[batching]") {
    const auto slower = GENERATE(0.1, 1.0, 10.0);
    const auto senders = GENERATE(as<std::size_t>{}, 1, 8, 64, 256, 1'024, 4'096);
    const Machine machine{.slower = slower};
    CAPTURE(slower, senders);
    CHECK(run({.closed = senders}, machine).frame_p99 < milliseconds{250});
    CHECK(run({.per_second = 10 * senders}, machine).frame_p99 < milliseconds{250});
    CHECK(run({.burst = senders}, machine).frame_p99 < milliseconds{250});
}

TEST_CASE("without the waits, batches are small and frames late under an overload", "[batching]") {
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
    const auto slower = GENERATE(0.1, 1.0, 10.0);
    const auto senders = GENERATE(as<std::size_t>{}, 1, 2, 8, 16, 64, 256, 1'024, 4'096);
    const Machine machine{.slower = slower};
    const auto with = run({.closed = senders}, machine);
    const auto without = run({.closed = senders}, machine, false);
    CAPTURE(slower, senders, with.per_second, with.per_batch, with.busy, without.per_second,
            without.per_batch, without.busy);
    // Without the waits, senders may get their answers by taking the processors from the stage
    // behind: what was not delivered does not count.
    CHECK(with.delivered_per_second > 0.97 * without.delivered_per_second);
    CHECK(with.per_second > 0.8 * without.per_second);
}

TEST_CASE("a put waits for nobody where there are processors to spare", "[batching]") {
    const auto slower = GENERATE(0.1, 1.0, 10.0);
    const auto per_second = GENERATE(as<std::size_t>{}, 100, 1'000, 3'000);
    const Machine machine{.slower = slower};
    const Load load{.per_second = static_cast<std::size_t>(double(per_second) / slower)};
    const auto with = run(load, machine);
    const auto without = run(load, machine, false);
    CAPTURE(slower, per_second, with.waited_p50.count(), without.waited_p50.count(), with.busy);
    CHECK(with.waited_p50 <= without.waited_p50 + microseconds{50});
}
