#include "retry/home/fan_out/event_fan_out.hpp"

#include "records/delivery.hpp"
#include "retry/event/event.hpp"
#include "retry/home/attempts_world.hpp"
#include "retry/home/fan_out/step_quota.hpp"
#include "retry/role/waiting_events.hpp"
#include "support/record_view.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <new>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;

namespace {

/// A fan-out over a log in memory, and webhooks that want every event.
struct World {
    explicit World(int count) {
        progress.set_up_to_date(true);
        for (int i = 0; i < count; ++i) add("w" + std::to_string(i));
    }
    void add(const std::string& id, const std::string& owner = "o",
             const std::string& filter = "") {
        Webhook webhook;
        webhook.id = id;
        webhook.owner = owner;
        webhook.url = "http://w.example/";
        webhook.filter = filter;
        webhooks.apply(*test::ReadBack{encode(webhook, webhooks.box())});
    }
    void post(nlohmann::json event, const std::string& id) {
        event["specversion"] = "1.0";
        event["id"] = id;
        event["source"] = "/shop";
        event["type"] = "order.created";
        sender->publish({log::Topic::kEvents, 0}, encode(*parse_structured(event.dump())),
                        [](const auto&) {});
    }
    /// Of a topic, by the webhook.
    std::map<std::string, std::vector<Delivery>> written(log::Topic topic) const {
        std::map<std::string, std::vector<Delivery>> all;
        for (const auto& stored : log->records({topic, 0})) {
            const auto delivery = decode_delivery(*test::ReadBack{stored.record});
            REQUIRE(delivery);
            all[delivery->webhook].push_back(*delivery);
        }
        return all;
    }
    /// Folds the webhooks that this process and others have published.
    void fold_webhooks() {
        for (const auto& stored : log->records({log::Topic::kWebhooks, 0})) {
            webhooks.apply(*test::ReadBack{stored.record});
        }
    }
    void post(int from, int to) {
        for (int i = from; i < to; ++i) post(nlohmann::json::object(), std::to_string(i));
    }
    EventFanOut::Events events() {
        return {.fanned_out_up_to = [this](core::Offset next) { fanned_out = next; },
                .failed = [](const auto&) {}};
    }
    /// Different ones that the log has.
    std::size_t deliveries() const {
        std::set<std::string> ids;
        for (const auto& stored : log->records({log::Topic::retry(0), 0})) {
            const auto delivery = decode_delivery(*test::ReadBack{stored.record});
            REQUIRE(delivery);
            ids.insert(delivery->id);
        }
        return ids.size();
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log =
        log::make_memory_log({.seed = 1, .partitions = 1, .clock = &clock, .append_delay_max = 4s});
    std::unique_ptr<log::Publisher> sender = log->open_publisher(executor);
    std::unique_ptr<log::Publisher> publisher = log->open_publisher(executor);
    WebhookDirectory webhooks{
        SecretBox{std::make_shared<core::KeyRing>(core::KeyRing::generate())}};
    WebhookProgress progress{1, executor, {}};
    core::Offset fanned_out = 0;
    FanOutTurns turns{executor};
    EventCache cache;
    Tally tally;
    EventFanOut event_fan_out{{}, context(*publisher), events()};

    EventFanOut::Context context(log::Publisher& to, WorkJournal::Slot* journal = nullptr) {
        return {.home = {.log = *log,
                         .publisher = to,
                         .executor = executor,
                         .clock = clock,
                         .tally = tally,
                         .journal = journal},
                .webhooks = webhooks,
                .progress = progress,
                .turns = turns,
                .cache = cache};
    }
};

}  // namespace

// Verified to fail when the fan-out reads on without regard to deliveries under way.
TEST_CASE("deliveries under way are bounded, and all are written in the end",
          "[retry][event][bounds]") {
    constexpr int kWebhooks = 100;
    constexpr int kEvents = 60;
    World world{kWebhooks};
    world.event_fan_out.start();
    for (int round = 1; round <= 2; ++round) {  // the second finds as much space as the first
        world.post((round - 1) * kEvents, round * kEvents);
        std::size_t most = 0;
        for (int i = 0; i < 3'000 && world.fanned_out < round * kEvents; ++i) {
            world.executor.run_for(10ms);
            most = std::max(most, world.publisher->unanswered());
        }
        // Alone an owner holds a third of what all may hold.
        CHECK(most >= FanOutTurns::kDeliveriesMax / 3);
        CHECK(most <= FanOutTurns::kDeliveriesMax / 2);
        CHECK(world.fanned_out == round * kEvents);
        CHECK(world.publisher->unanswered() == 0);
        CHECK(world.deliveries() == static_cast<std::size_t>(round * kEvents * kWebhooks));
        CHECK(world.tally.events[EventEnd::copy] == 0);
    }
}

namespace {

/// A filter that takes a step for each element of `data.a`, and one that takes two hundred.
constexpr const char* kCheap = R"({"exists": {"field": "data.a.b"}})";
std::string costly_filter() {
    nlohmann::json clauses = nlohmann::json::array();
    for (int i = 0; i < 200; ++i) clauses.push_back(nlohmann::json::parse(kCheap));
    return nlohmann::json{{"bool", {{"should", clauses}}}}.dump();
}

nlohmann::json event_of(std::size_t objects, const std::string& owner = "") {
    nlohmann::json event{
        {"data", {{"a", std::vector<nlohmann::json>(objects, nlohmann::json::object())}}}};
    if (!owner.empty()) event["beckonowner"] = owner;
    return event;
}

}  // namespace

TEST_CASE(
    "an event that is too costly for a filter is that webhook's dead letter, and its webhook "
    "says so",
    "[retry][event][bounds]") {
    World world{0};
    world.add("all");
    world.add("cheap", "o", R"({"prefix": {"type": "order."}})");
    world.add("costly", "o", costly_filter());
    world.add("foreign", "p");
    world.event_fan_out.start();
    world.post(event_of(20'000), "e1");
    world.executor.run_for(10s);
    CHECK(world.fanned_out == 1);
    const auto due = world.written(log::Topic::retry(0));
    CHECK(due.size() == 3);
    CHECK((due.contains("all") && due.contains("cheap") && due.contains("foreign")));
    const auto dead = world.written(log::Topic::kRetryDead);
    REQUIRE(dead.size() == 1);
    const auto& letter = dead.at("costly").front();
    CHECK(letter.last == Outcome::filter_too_costly);
    CHECK(letter.hop == 1);
    CHECK(letter.attempts == 0);
    CHECK(letter.accepted == world.log->records({log::Topic::kEvents, 0}).front().time);
    CHECK(letter.id == delivery_id("/shop", "e1", "costly"));
    CHECK(letter.event == due.at("all").front().event);
    CHECK(world.tally.deliveries[DeliveryEnd::filter_too_costly] == 1);
    CHECK(world.tally.filter_steps > 0);

    world.fold_webhooks();
    const auto costly = world.webhooks.find("costly")->costly;
    REQUIRE(costly);
    CHECK(costly->event == "e1");
    CHECK(costly->source == "/shop");
    CHECK_FALSE(world.webhooks.find("cheap")->costly);

    // Once a minute is enough; and a smaller event is within the bound.
    world.post(event_of(20'000), "e2");
    world.post(event_of(10), "e3");
    world.executor.run_for(10s);
    CHECK(world.log->records({log::Topic::kWebhooks, 0}).size() == 1);
    CHECK(world.written(log::Topic::kRetryDead).at("costly").size() == 2);
    CHECK(world.fanned_out == 3);
    world.executor.run_for(1min);
    world.post(event_of(20'000), "e4");
    world.executor.run_for(10s);
    CHECK(world.log->records({log::Topic::kWebhooks, 0}).size() == 2);
}

TEST_CASE("an owner pays for the cost of its own filters", "[retry][event][bounds]") {
    World world{0};
    for (int i = 0; i < 10; ++i) world.add("f" + std::to_string(i), "foreign", costly_filter());
    world.add("mine", "o", kCheap);
    world.event_fan_out.start();
    world.post(event_of(4'000, "o"), "e1");
    world.executor.run_for(10s);
    CHECK(world.tally.filter_steps < 3 * 4'000);
    CHECK(world.written(log::Topic::kRetryDead).empty());

    // The foreign owner posts as fast as it can: in the long run it has what the quota has.
    for (int i = 0; i < 100; ++i) world.post(event_of(20'000, "foreign"), "f" + std::to_string(i));
    for (int i = 0; i < 20; ++i) world.post(event_of(4'000, "o"), "o" + std::to_string(i));
    for (int i = 0; i < 1'000 && world.fanned_out < 121; ++i) world.executor.run_for(1s);
    CHECK(world.fanned_out == 121);
    // Appended within four seconds.
    CHECK(world.tally.filter_steps <
          StepQuota::kInAdvance + 4 * StepQuota::kPerSecond + 21 * 3 * 4'000);
    CHECK_FALSE(world.written(log::Topic::kRetryDead).contains("mine"));
}

TEST_CASE("between owners of an event for everybody the thread has other turns",
          "[retry][event][bounds]") {
    constexpr int kOwners = 20;
    World world{0};
    for (int i = 0; i < kOwners; ++i) {
        world.add("w" + std::to_string(i), "o" + std::to_string(i), costly_filter());
        world.add("v" + std::to_string(i), "o" + std::to_string(i));
    }
    world.event_fan_out.start();
    world.post(event_of(20'000), "e1");
    int turns = 0;
    const std::function<void()> other = [&] {
        ++turns;
        if (world.fanned_out == 0 && turns < 10'000) world.executor.post(other);
    };
    world.executor.run_for(4ms);
    world.executor.post(other);
    world.executor.run_for(20s);
    CHECK(turns >= kOwners / 2);
    CHECK(world.fanned_out == 1);
    CHECK(world.deliveries() == kOwners);
    CHECK(world.written(log::Topic::kRetryDead).size() == kOwners);
}

// Fails where each delivery has a copy: two webhooks and an event of 200 KB were 400 KB.
TEST_CASE("a large event stays in the log, and its deliveries name it", "[retry][event][bounds]") {
    World world{2};
    world.event_fan_out.start();
    world.post({{"data", std::string(200'000, 'x')}}, "large");
    world.post({{"data", "x"}}, "small");
    world.executor.run_for(20s);
    REQUIRE(world.fanned_out == 2);
    const auto& events = world.log->records({log::Topic::kEvents, 0});
    for (const auto& [webhook, some] : world.written(log::Topic::retry(0))) {
        REQUIRE(some.size() == 2);
        const auto& large = some[0].place ? some[0] : some[1];
        const auto& small = some[0].place ? some[1] : some[0];
        CHECK(large.event.empty());
        CHECK(large.id == delivery_id("/shop", "large", webhook));
        CHECK(large.place == EventPlace{.partition = 0,
                                        .offset = 0,
                                        .name = event_name("/shop", "large"),
                                        .bytes = events[0].record.value->size(),
                                        .type = "order.created"});
        CHECK(small.event == events[1].record.value);
        CHECK_FALSE(small.place);
        CHECK(*world.cache.find(*large.place) == events[0].record.value);
    }
}

namespace {

/// Passes those records on that a test lets pass, and the others when it releases them.
class SelectivePublisher final : public log::Publisher {
public:
    using Passes = std::function<bool(log::TopicPartition, const core::Record&)>;
    SelectivePublisher(log::Publisher& to, Passes passes) : to_(to), passes_(std::move(passes)) {}
    void publish(log::TopicPartition where, core::Record record, log::AppendDone done) override {
        if (passes_(where, record)) return to_.publish(where, std::move(record), std::move(done));
        held_.push_back([this, where, record, done] { to_.publish(where, record, done); });
    }
    std::size_t unanswered() const override { return held_.size() + to_.unanswered(); }
    std::size_t held() const { return held_.size(); }
    void release() {
        passes_ = [](auto, const auto&) { return true; };
        for (auto& one : std::exchange(held_, {})) one();
    }

private:
    log::Publisher& to_;
    Passes passes_;
    std::vector<std::function<void()>> held_;
};

/// Whether its value has the text, or a header is it.
bool has(const core::Record& record, const std::string& text) {
    return (record.value && record.value->find(text) != std::string::npos) ||
           std::any_of(record.headers.begin(), record.headers.end(),
                       [&](const auto& header) { return header.value == text; });
}

}  // namespace

// Fails where an exception stops the partition at this event, and where a second one, while the
// dead letter is written, loses the letter.
TEST_CASE("a failure while an event is fanned out ends that event, with its reason",
          "[retry][event]") {
    const int letters_that_fail = GENERATE(0, 1, 3);
    CAPTURE(letters_that_fail);
    World world{3};
    // No memory is left for one event's deliveries, nor for some of its dead letters.
    SelectivePublisher publisher{
        *world.publisher, [left = letters_that_fail](auto where, const auto& record) mutable {
            if (where.topic == log::Topic::retry(0) && has(record, "too much"))
                throw std::bad_alloc{};
            if (where.topic == log::Topic::kRetryDead && left-- > 0) throw std::bad_alloc{};
            return true;
        }};
    int failed = 0;
    EventFanOut event_fan_out{
        {},
        world.context(publisher),
        {.fanned_out_up_to = [&](core::Offset next) { world.fanned_out = next; },
         .failed = [&](const auto&) { ++failed; }}};
    event_fan_out.start();
    world.post(0, 2);
    world.post({{"data", "too much"}}, "2");
    world.post(3, 5);
    world.executor.run_for(60s);
    CHECK(world.fanned_out == 5);
    CHECK(failed == 0);
    CHECK(world.deliveries() == 4 * 3);
    CHECK(world.tally.events[EventEnd::broken] == 1);
    const auto letters = world.written(log::Topic::kRetryDead);
    REQUIRE(letters.size() == 1);
    REQUIRE(letters.at(std::string{kNoWebhook}).size() == 1);
    const auto letter = nlohmann::json::parse(letters.at(std::string{kNoWebhook})[0].event);
    CHECK(letter["data"]["why"] == "it could not be fanned out: std::bad_alloc");
}

// Fails where no file names the event that a thread is matching: then it ends each process.
TEST_CASE("an event during whose matching two processes ended is a dead letter", "[retry][event]") {
    World world{1};
    const test::Processes processes;
    int ends = 0;
    SelectivePublisher publisher{
        *world.publisher, [&](auto where, const auto& record) {
            if (where.topic != log::Topic::retry(0) || !has(record, "poison")) return true;
            ++ends;
            processes.end_process();
            return true;
        }};
    world.post(0, 3);
    world.post({{"data", "poison"}}, "p");
    world.post(3, 6);
    for (int process = 1; process <= 4; ++process) {
        processes.run([&](auto* journal) {
            world.tally = {};
            EventFanOut fan_out{{}, world.context(publisher, journal), world.events()};
            fan_out.start();
            world.executor.run_for(60s);
            CHECK(world.fanned_out == 7);
            CHECK(world.tally.events[EventEnd::broken] == (process <= 2 ? 0 : 1));
        });
    }
    CHECK(ends == 2);
    const auto letters = world.written(log::Topic::kRetryDead);
    REQUIRE(letters.size() == 1);
    const auto letter = nlohmann::json::parse(letters.at(std::string{kNoWebhook})[0].event);
    CHECK(letter["data"]["why"] == "two processes ended while it was fanned out");
    CHECK(world.deliveries() == 7);
}

namespace {

/// A fan-out whose deliveries with that text are held back.
struct HeldWorld : World {
    explicit HeldWorld(const std::string& text)
        : World(0),
          holds(*publisher, [text](auto, const auto& record) { return !has(record, text); }) {
        held.start();
    }
    void run_until_fanned_out(core::Offset next) {
        for (int i = 0; i < 60'000 && fanned_out < next; ++i) executor.run_for(10ms);
        CHECK(fanned_out == next);
    }
    SelectivePublisher holds;
    EventFanOut held{{}, context(holds), events()};
};

}  // namespace

// Fails where fewer events are read ahead than two processes may post for one owner.
TEST_CASE("an event behind all that others may have waiting is fanned out in its owner's turn",
          "[retry][event][bounds]") {
    constexpr int kWebhooks = 100;
    constexpr auto kFlood = static_cast<int>(2 * WaitingEvents::kEventsMax);
    World world{kWebhooks};
    world.add("q", "quiet");
    world.post(0, kFlood);
    world.post(event_of(0, "quiet"), "one");
    world.executor.run_for(10s);  // all are in the log
    world.event_fan_out.start();
    const auto& written = world.log->records({log::Topic::retry(0), 0});
    std::size_t before = 0;
    const auto has_come = [&] {
        for (; before < written.size(); ++before) {
            const auto delivery = decode_delivery(*test::ReadBack{written[before].record});
            if (delivery && delivery->webhook == "q") return true;
        }
        return false;
    };
    for (int i = 0; i < 6'000 && !has_come(); ++i) world.executor.run_for(10ms);
    REQUIRE(has_come());
    CHECK(before < 4'000);  // of some 200,000
}

TEST_CASE("of large events fewer are read ahead, and all are written in the end",
          "[retry][event][bounds]") {
    constexpr std::size_t kBytes = 100'000;
    constexpr int kEvents = 300;
    HeldWorld world{"order.created"};
    world.add("w");
    nlohmann::json large;
    large["data"] = std::string(kBytes, 'x');
    for (int i = 0; i < kEvents; ++i) world.post(large, std::to_string(i));
    world.executor.run_for(60s);
    CHECK(world.tally.events[EventEnd::fanned_out] > EventFanOut::kAheadBytesMax / (2 * kBytes));
    CHECK(world.tally.events[EventEnd::fanned_out] <= EventFanOut::kAheadBytesMax / kBytes + 1);
    world.holds.release();
    world.run_until_fanned_out(kEvents);
    CHECK(world.deliveries() == kEvents);
}

TEST_CASE("of events for everybody fewer are read ahead, and all are written in the end",
          "[retry][event][bounds]") {
    constexpr int kOwners = 200;
    constexpr int kEvents = 250;
    HeldWorld world{"order.created"};
    for (int i = 0; i < kOwners; ++i) {
        world.add("w" + std::to_string(i), "o" + std::to_string(i));
    }
    world.post(0, kEvents);
    world.executor.run_for(60s);
    const auto matched = world.holds.held();
    const auto read = world.tally.events[EventEnd::fanned_out] * kOwners;
    CHECK(read > matched);
    CHECK(read <= matched + EventFanOut::kMatchesMax + 2 * kOwners * kOwners);
    CHECK(world.tally.events[EventEnd::fanned_out] < kEvents);
    world.holds.release();
    world.run_until_fanned_out(kEvents);
    CHECK(world.deliveries() == static_cast<std::size_t>(kEvents * kOwners));
}

TEST_CASE("events are read only so far behind one that is not written", "[retry][event][bounds]") {
    constexpr int kEvents = 6'000;
    HeldWorld world{"stuck"};
    world.add("s", "stuck");
    world.add("w");
    world.post(event_of(0, "stuck"), "first");
    for (int i = 1; i < kEvents; ++i) world.post(event_of(0, "o"), std::to_string(i));
    world.executor.run_for(60s);
    CHECK(world.fanned_out == 0);
    CHECK(world.tally.events[EventEnd::fanned_out] == EventFanOut::kReadAheadMax);
    CHECK(world.deliveries() == EventFanOut::kReadAheadMax - 1);
    world.holds.release();
    world.run_until_fanned_out(kEvents);
    CHECK(world.deliveries() == kEvents);
}

// Verified to fail when the gap counts as events that were read ahead.
TEST_CASE("events behind a long gap of offsets are fanned out", "[retry][event]") {
    World world{1};
    world.post(0, 1);
    world.executor.run_for(10s);
    for (core::Offset i = 0; i <= EventFanOut::kReadAheadMax; ++i) {
        world.sender->publish({log::Topic::kEvents, 0}, {"gone", std::nullopt, {}},
                              [](const auto&) {});
    }
    world.executor.run_for(10s);
    world.log->compact({log::Topic::kEvents, 0}, EventFanOut::kReadAheadMax + 2, true);
    world.event_fan_out.start();
    world.executor.run_for(10s);
    world.post(1, 2);
    world.executor.run_for(10s);
    CHECK(world.deliveries() == 2);
    CHECK(world.fanned_out == EventFanOut::kReadAheadMax + 3);
}

TEST_CASE("events that cannot be read wait for the dead letters of those before",
          "[retry][event][bounds]") {
    constexpr int kEvents = 500;
    constexpr std::size_t kBytes = 30'000;
    HeldWorld world{"\"why\""};
    world.add("w");
    for (int i = 0; i < kEvents; ++i) {
        core::Record broken;
        broken.key = std::to_string(i);
        broken.value = std::string(kBytes, 'x');
        world.sender->publish({log::Topic::kEvents, 0}, broken, [](const auto&) {});
    }
    world.executor.run_for(60s);
    const auto broken = world.tally.events[EventEnd::broken];
    CHECK(broken > EventFanOut::kAheadBytesMax / (2 * kBytes));
    CHECK(broken <= EventFanOut::kAheadBytesMax / kBytes + 1);
    CHECK(world.fanned_out == 0);
    world.holds.release();
    world.run_until_fanned_out(kEvents);
    CHECK(world.log->records({log::Topic::kRetryDead, 0}).size() >= kEvents);
}
