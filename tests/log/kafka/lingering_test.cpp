// Batching on the way to and from a broker: when a record lingers, and for how long. Time is
// given by the test; no broker is asked. Then a simulation of senders, an endpoint, a broker and an
// edge that share processors.
#include "log/batching/linger.hpp"
#include "log/batching/senders.hpp"
#include "log/kafka/fetch_pace.hpp"
#include "log/kafka/lingering_records.hpp"
#include "log/simulated_machine.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using log::Linger;
using log::Senders;
using log::SteadyTime;
using log::Topic;
using log::kafka::FetchPace;
using log::kafka::LingeringRecords;
using log::kafka::Publishing;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Arrivals;
using test::Load;
using test::percentile;
using Held = LingeringRecords::Held;

namespace {

const SteadyTime kBegin = SteadyTime{} + seconds{1000};
constexpr milliseconds kLinger{5};

Publishing put(std::string key, core::Partition partition = 0) {
    return {{Topic::kNotifications, partition}, {std::move(key), "value", {}}, nullptr};
}

using Keys = std::vector<std::string>;

Keys pass_on_due(LingeringRecords& lingering, SteadyTime::duration linger, SteadyTime now) {
    Keys keys;
    lingering.pass_on_due(linger, now,
                          [&](const Publishing& one) { keys.push_back(one.record.key); });
    return keys;
}

Keys keys_of(const std::vector<Publishing>& all) {
    Keys keys;
    for (const auto& one : all) keys.push_back(one.record.key);
    return keys;
}

}  // namespace

TEST_CASE("a record is not held where processors are to spare") {
    LingeringRecords lingering;
    auto now = kBegin;
    for (int i = 0; i < 1000; ++i) {
        auto one = put("k", static_cast<core::Partition>(i % 16));
        CHECK(lingering.hold(one, {}, now += microseconds{10}) == Held::no);
        CHECK(one.record.key == "k");  // still the caller's
    }
    CHECK(lingering.empty());
}

TEST_CASE("where they are short, records of a partition go together and in their order") {
    LingeringRecords lingering;
    auto now = kBegin;
    for (const auto* key : {"a", "b", "c"}) {
        auto one = put(key);
        REQUIRE(lingering.hold(one, kLinger, now) == Held::waits);
        now += milliseconds{1};
        auto other = put(std::string{"other "} + key, 5);
        REQUIRE(lingering.hold(other, kLinger, now) == Held::waits);
    }
    CHECK_FALSE(lingering.empty());
    CHECK(pass_on_due(lingering, kLinger, kBegin + kLinger - microseconds{1}).empty());
    // Each partition's wait since its first record.
    CHECK(pass_on_due(lingering, kLinger, kBegin + kLinger) == Keys{"a", "b", "c"});
    CHECK(pass_on_due(lingering, kLinger, kBegin + kLinger + milliseconds{1}) ==
          Keys{"other a", "other b", "other c"});
    CHECK(lingering.empty());
}

TEST_CASE("records behind one that cannot be passed on wait again, in their order") {
    LingeringRecords lingering;
    for (const auto* key : {"a", "b", "c"}) {
        auto one = put(key);
        REQUIRE(lingering.hold(one, kLinger, kBegin) == Held::waits);
    }
    const auto late = kBegin + kLinger;
    CHECK_THROWS_AS(lingering.pass_on_due(kLinger, late,
                                          [&](const Publishing&) {
                                              auto later = put("d");
                                              lingering.hold(later, kLinger, late);
                                              throw std::bad_alloc{};
                                          }),
                    std::bad_alloc);
    CHECK_FALSE(lingering.empty());
    CHECK(pass_on_due(lingering, kLinger, late + kLinger) == Keys{"b", "c", "d"});
    auto next = put("e");
    CHECK(lingering.hold(next, {}, late) == Held::no);  // nobody passes on
}

TEST_CASE("records wait no longer than the bound, and go when the linger has ended") {
    LingeringRecords lingering;
    auto one = put("a");
    REQUIRE(lingering.hold(one, seconds{1}, kBegin) == Held::waits);
    CHECK(pass_on_due(lingering, seconds{1}, kBegin + milliseconds{19}).empty());
    CHECK(pass_on_due(lingering, seconds{1}, kBegin + LingeringRecords::kWaitMax) == Keys{"a"});
    auto next = put("b");
    REQUIRE(lingering.hold(next, kLinger, kBegin) == Held::waits);
    auto joins = put("c");
    CHECK(lingering.hold(joins, {}, kBegin) == Held::due);  // behind the other
    CHECK(pass_on_due(lingering, {}, kBegin) == Keys{"b", "c"});
}

TEST_CASE("records that linger go at once when all active senders wait") {
    LingeringRecords lingering;
    const auto senders = std::make_shared<Senders>();
    lingering.come_from(senders);
    const std::array<int, 8> connections{};
    const auto now = kBegin;
    senders->others_could_join(now);  // the span begins
    for (const auto& connection : connections) senders->sent(&connection);
    for (std::size_t i = 0; i < 8; ++i) senders->answered();
    for (std::size_t i = 0; i < 5; ++i) {
        senders->sent(&connections[i]);
        auto one = put(std::to_string(i), static_cast<core::Partition>(i));
        CHECK(lingering.hold(one, kLinger, now) == Held::waits);
    }
    senders->sent(&connections[5]);
    auto last = put("5");
    CHECK(lingering.hold(last, kLinger, now) == Held::due);
    CHECK(pass_on_due(lingering, kLinger, now).size() == 6);
    CHECK(lingering.empty());
    auto alone = put("6");
    CHECK(lingering.hold(alone, kLinger, now) == Held::no);
}

TEST_CASE("while one thread passes records on, what another one brings is passed on by that one") {
    LingeringRecords lingering;
    auto first = put("first");
    REQUIRE(lingering.hold(first, kLinger, kBegin) == Held::waits);
    const auto later = kBegin + kLinger;
    Keys keys;
    lingering.pass_on_due(kLinger, later, [&](const Publishing& one) {
        keys.push_back(one.record.key);
        if (keys.size() > 1) return;
        // As the other thread would: neither overtakes the first.
        auto second = put("second");
        CHECK(lingering.hold(second, {}, later) == Held::due);
        CHECK(pass_on_due(lingering, {}, later).empty());
        auto third = put("third", 3);
        CHECK(lingering.hold(third, kLinger, kBegin) == Held::waits);
    });
    CHECK(keys == Keys{"first", "third"});  // the second lingers by the passing thread's time
    CHECK(pass_on_due(lingering, {}, later) == Keys{"second"});
}

TEST_CASE("at the bound all waiting records are due at once, and then there is space again") {
    LingeringRecords lingering;
    const auto hold = [&](std::size_t count) {
        Held last = Held::no;
        for (std::size_t i = 0; i < count; ++i) {
            auto one = put(std::to_string(i), static_cast<core::Partition>(i % 16));
            last = lingering.hold(one, kLinger, kBegin);
        }
        return last;
    };
    CHECK(hold(LingeringRecords::kLingeringMax - 1) == Held::waits);
    CHECK(pass_on_due(lingering, kLinger, kBegin).empty());
    CHECK(hold(1) == Held::due);
    CHECK(pass_on_due(lingering, kLinger, kBegin).size() == LingeringRecords::kLingeringMax);
    CHECK(lingering.empty());
    CHECK(hold(1) == Held::waits);
    CHECK(keys_of(lingering.take_all()) == Keys{"0"});
    CHECK(lingering.empty());
}

// --- the simulation

namespace {

struct Machine {
    int processors = 2;
    double slower = 1;               ///< all times below, so many times
    microseconds sending{15};        ///< of the senders, for a message
    microseconds accepting{20};      ///< of the endpoint, for a message
    microseconds requesting{60};     ///< of the producer, for a request
    microseconds appending{110};     ///< of the broker, for a request
    microseconds appending_each{5};  ///< for a message
    microseconds answering{60};      ///< of the broker, for a fetch
    microseconds fetching{60};       ///< of the edge, for what one fetch brought
    microseconds reading_each{20};   ///< of the edge, for a message
    double noise = 0;                ///< what is measured as idle is off by up to so much
};

struct Outcome {
    double per_second = 0;   ///< messages that were answered
    double per_request = 0;  ///< messages in one
    double cpu_us = 0;       ///< for a message
    microseconds answer_p50{};
    milliseconds answer_p99{};
    milliseconds frame_p99{};  ///< from the answer on
    double busy = 0;
    microseconds linger{};          ///< of the endpoint's records, on average
    microseconds fetches_linger{};  ///< and of the edge's fetches
};

/// librdkafka sends one request at a time, with all records of one partition; then the broker
/// appends it, and a fetch brings it to the edge. `wait` false: neither records nor fetches linger.
class Simulation {
public:
    Simulation(const Machine& machine, const Load& load, bool wait)
        : machine_(machine),
          wait_(wait),
          runs_(machine.processors, machine.slower),
          arrivals_(runs_, load, [this](std::size_t sender) { send(sender); }) {}

    Outcome run() {
        lingering_.come_from(senders_);
        arrivals_.begin();
        measure();
        poll();
        runs_.run_for(span());
        const auto lasted = std::chrono::duration<double>{span()}.count();
        const auto count = static_cast<double>(std::max<std::size_t>(answers_.size(), 1));
        return {.per_second = count / lasted,
                .per_request = count / static_cast<double>(std::max<std::size_t>(requests_, 1)),
                .cpu_us = std::chrono::duration<double, std::micro>{runs_.used()}.count() / count,
                .answer_p50 = percentile<microseconds>(answers_, 0.5),
                .answer_p99 = percentile<milliseconds>(answers_, 0.99),
                .frame_p99 = percentile<milliseconds>(frames_, 0.99),
                .busy = std::chrono::duration<double>{runs_.used()}.count() / lasted /
                        machine_.processors,
                .linger = mean(lingers_),
                .fetches_linger = mean(fetches_lingers_)};
    }

private:
    /// A fast machine does much in a second.
    seconds span() const { return machine_.slower < 1 ? seconds{3} : seconds{6}; }
    static constexpr core::Partition kPartitions = 16;
    enum Who : std::size_t {
        kEndpoint,
        kOther,
        kSenders,
        kProducer,
        kBroker,
        kBrokersOther,
        kShard,
        kOtherShard,
        kThreads
    };

    struct Sent {
        SteadyTime since;
        std::size_t sender = 0;
    };

    void send(std::size_t sender) {
        const auto since = runs_.now();
        runs_.compute(kSenders, machine_.sending, [this, sender, since] {
            runs_.compute(++sent_ % 2 == 0 ? kEndpoint : kOther, machine_.accepting,
                          [this, sender, since] {
                              publish({since, sender});
                          });
        });
    }

    void publish(const Sent& message) {
        const auto partition = static_cast<core::Partition>(random_() % kPartitions);
        if (!wait_) return produce(partition, message);
        senders_->sent(arrivals_.connection(message.sender));
        auto one = put(std::to_string(next_), partition);
        held_[next_++] = message;
        switch (lingering_.hold(one, linger_.now(), runs_.now())) {
            case Held::no: return pass_on(one);
            case Held::due: return pass_on_due();
            case Held::waits: return;
        }
    }
    void pass_on(const Publishing& one) {
        const auto held = held_.find(std::stoull(one.record.key));
        produce(one.where.partition, held->second);
        held_.erase(held);
    }
    void pass_on_due() {
        lingering_.pass_on_due(linger_.now(), runs_.now(),
                               [this](const Publishing& one) { pass_on(one); });
    }
    void poll() {
        runs_.at(runs_.now() + milliseconds{1}, [this] {
            pass_on_due();
            poll();
        });
    }
    void measure() {
        runs_.at(runs_.now() + Linger::kSpan, [this, used = runs_.used()] {
            const std::chrono::duration<double> busy = runs_.used() - used;
            const std::chrono::duration<double> all = machine_.processors * Linger::kSpan;
            const auto idle = 1 - busy / all;
            linger_.measured({.idle = noisy(idle), .own = 0.3});
            fetches_linger_.measured({.idle = noisy(idle), .own = 0.3});
            lingers_.push_back(linger_.now());
            fetches_lingers_.push_back(fetches_linger_.now());
            measure();
        });
    }

    /// As it is measured in a short span.
    double noisy(double idle) {
        std::uniform_real_distribution<double> off{-machine_.noise, machine_.noise};
        return std::clamp(idle + off(random_), 0.0, 1.0);
    }
    static microseconds mean(const std::vector<SteadyTime::duration>& of) {
        const auto all = std::accumulate(of.begin(), of.end(), SteadyTime::duration{});
        return std::chrono::duration_cast<microseconds>(all / std::max<std::size_t>(of.size(), 1));
    }

    void produce(core::Partition partition, const Sent& message) {
        queues_[partition].push_back(message);
        request();
    }
    void request() {
        if (requesting_) return;
        for (core::Partition i = 0; i < kPartitions; ++i) {
            auto& queue = queues_[(turn_ + i) % kPartitions];
            if (queue.empty()) continue;
            turn_ = (turn_ + i + 1) % kPartitions;
            requesting_ = true;
            ++requests_;
            runs_.compute(kProducer, machine_.requesting,
                          [this, batch = std::exchange(queue, {})] { append(batch); });
            return;
        }
    }
    void append(const std::vector<Sent>& batch) {
        runs_.compute(kBroker,
                      machine_.appending + machine_.appending_each * static_cast<int>(batch.size()),
                      [this, batch] { answered(batch); });
    }
    void answered(const std::vector<Sent>& batch) {
        requesting_ = false;
        for (const auto& one : batch) {
            answers_.push_back(runs_.now() - one.since);
            senders_->answered();
            arrivals_.answered(one.sender);
            unread_.push_back(runs_.now());
        }
        fetch();
        request();
    }
    /// One fetch is under way at a time, and is answered as soon as there is a record.
    void fetch() {
        if (fetching_ || unread_.empty()) return;
        fetching_ = true;
        runs_.at(fetch_begins_, [this] {
            runs_.compute(kBrokersOther, machine_.answering,
                          [this] { fetched(std::exchange(unread_, {})); });
        });
    }
    void fetched(const std::vector<SteadyTime>& records) {
        runs_.compute(++fetches_ % 2 == 0 ? kShard : kOtherShard,
                      machine_.fetching + machine_.reading_each * static_cast<int>(records.size()),
                      [this, records] {
                          for (const auto since : records) frames_.push_back(runs_.now() - since);
                      });
        fetching_ = false;
        pace_.answered(records.size() * 500, FetchPace::kFullBytes);
        const auto apart = wait_ ? pace_.apart(fetches_linger_.now()) : SteadyTime::duration{};
        fetch_begins_ = std::max(runs_.now(), fetch_begins_ + apart);
        fetch();
    }

    const Machine machine_;
    const bool wait_;
    test::SimulatedMachine<kThreads> runs_;
    Arrivals<kThreads> arrivals_;
    std::mt19937_64 random_{7};
    Linger linger_{LingeringRecords::kWaitMax};
    Linger fetches_linger_{FetchPace::kApartMost};
    const std::shared_ptr<Senders> senders_ = std::make_shared<Senders>();
    LingeringRecords lingering_;
    FetchPace pace_;
    SteadyTime fetch_begins_{};           ///< the one that is under way, or the next one
    std::map<std::uint64_t, Sent> held_;  ///< by the key of their record
    std::uint64_t next_ = 0;
    std::array<std::vector<Sent>, kPartitions> queues_;
    core::Partition turn_ = 0;
    bool requesting_ = false;
    bool fetching_ = false;
    std::vector<SteadyTime> unread_;
    std::uint64_t sent_ = 0;
    std::size_t requests_ = 0;
    std::size_t fetches_ = 0;
    std::vector<SteadyTime::duration> answers_;
    std::vector<SteadyTime::duration> frames_;
    std::vector<SteadyTime::duration> lingers_;
    std::vector<SteadyTime::duration> fetches_lingers_;
};

Outcome run(const Load& load, const Machine& machine = {}, bool wait = true) {
    return Simulation{machine, load, wait}.run();
}

}  // namespace

TEST_CASE("senders that wait for their answers lose nothing by lingering", "[batching]") {
    const auto slower = GENERATE(0.1, 1.0, 10.0);
    const auto senders = GENERATE(as<std::size_t>{}, 1, 2, 8, 64, 256, 1'024, 4'096);
    const Machine machine{.slower = slower};
    const auto with = run({.closed = senders}, machine);
    const auto without = run({.closed = senders}, machine, false);
    CAPTURE(slower, senders, with.per_second, without.per_second, with.per_request,
            without.per_request, with.busy, without.busy);
    // What a fetch brings at once may compete with the next message of a sender that is alone, or
    // of two.
    CHECK(with.per_second > (senders <= 2 ? 0.88 : 0.95) * without.per_second);
}

TEST_CASE("where processors are short, records and fetches that linger make messages cheaper",
          "[batching]") {
    const Load load = GENERATE(Load{.closed = 256}, Load{.closed = 1'024},
                               Load{.per_second = 12'000}, Load{.per_second = 50'000});
    const auto with = run(load);
    const auto without = run(load, {}, false);
    CAPTURE(load.closed, load.per_second, with.per_second, without.per_second, with.per_request,
            without.per_request, with.cpu_us, without.cpu_us);
    CHECK(with.cpu_us < 0.95 * without.cpu_us);
    // Two of them are too much even where fetches wait: records linger, too.
    const bool short_even_so = load.closed == 1'024 || load.per_second == 50'000;
    if (short_even_so) CHECK(with.per_request > 1.4 * without.per_request);
    CHECK(with.per_second > 0.99 * without.per_second);
}

TEST_CASE("a record does not linger where there is a processor to spare", "[batching]") {
    const auto slower = GENERATE(0.1, 1.0, 10.0);
    const auto per_second = GENERATE(as<std::size_t>{}, 100, 1'000, 3'000);
    const Machine machine{.slower = slower};
    const Load load{.per_second = static_cast<std::size_t>(double(per_second) / slower)};
    const auto with = run(load, machine);
    const auto without = run(load, machine, false);
    CAPTURE(slower, per_second, with.answer_p50.count(), without.answer_p50.count(), with.busy);
    CHECK(double(with.answer_p50.count()) <= 1.1 * double(without.answer_p50.count()) + 50);
}

TEST_CASE("frames follow their answers within a quarter of a second", "[batching]") {
    const auto slower = GENERATE(0.1, 1.0, 10.0);
    const auto senders = GENERATE(as<std::size_t>{}, 1, 8, 64, 256, 1'024, 4'096);
    CAPTURE(slower, senders);
    CHECK(run({.closed = senders}, {.slower = slower}).frame_p99 < milliseconds{250});
}

TEST_CASE("bursts wait for no more than the bound", "[batching]") {
    const auto burst = GENERATE(as<std::size_t>{}, 1, 16, 256, 2'000);
    const auto with = run({.burst = burst});
    const auto without = run({.burst = burst}, {}, false);
    CAPTURE(burst, with.answer_p99.count(), without.answer_p99.count());
    CHECK(with.answer_p99 <= without.answer_p99 + LingeringRecords::kWaitMax);
    CHECK(with.per_second == Approx(without.per_second));
}

TEST_CASE("a measure that is off by as much in either direction makes nothing linger",
          "[batching]") {
    const auto per_second = GENERATE(as<std::size_t>{}, 9'000, 10'000);
    const Load load{.per_second = per_second};
    const auto exact = run(load);
    const auto noisy = run(load, {.noise = 0.2});
    CAPTURE(per_second, noisy.busy, noisy.linger.count(), noisy.fetches_linger.count());
    REQUIRE(exact.busy < 1 - Linger::kIdle);  // there is some to spare
    CHECK(exact.linger == microseconds{0});
    CHECK(noisy.linger < microseconds{700});
    CHECK(noisy.fetches_linger < microseconds{700});
}
