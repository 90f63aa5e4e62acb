#include "console/pages/dead_letters.hpp"

#include "log/blocking_executor.hpp"
#include "support/locked_log.hpp"
#include "support/memory_log.hpp"

#include <future>
#include <memory>
#include <thread>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

constexpr core::Partition kPartitions = 2;

core::Partition partition_of(const std::string& webhook) {
    return core::partition_of(webhook, kPartitions);
}

/// The answer, once it has come.
template <class Value, class Ask>
Value answered(Ask ask) {
    const auto promised = std::make_shared<std::promise<Value>>();
    ask([promised](Value value) { promised->set_value(std::move(value)); });
    return promised->get_future().get();
}

/// A clock that is ahead of the host's by so much.
class AheadOfHost final : public core::Clock {
public:
    explicit AheadOfHost(core::Duration by)
        : by_(std::chrono::floor<std::chrono::milliseconds>(by)) {}
    core::Timestamp wall() const override { return host_.wall() + by_; }
    core::MonoTime mono() const override { return host_.mono(); }

private:
    const std::chrono::milliseconds by_;
    const core::SystemClock host_;
};

/// A log with webhooks and their dead letters, and the console's thread that folds it.
class World {
public:
    explicit World(core::Duration log_ahead = {}) : clock(log_ahead) {
        webhook("wanted", true);
        webhook("switched-off", false);
        dead_letter("a", "wanted", "order.created");
        dead_letter("b", "wanted", "order.paid");
        dead_letter("c", "switched-off", "order.created");
        dead_letter("d", "of-nobody", "order.created");
        loop = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
        while (list({}).status != 200) std::this_thread::yield();
        next_millisecond();
    }
    ~World() {
        loop.request_stop();
        executor.post([] {});
    }

    /// A plan covers letters from before it, by the millisecond.
    void next_millisecond() const {
        const auto now = clock.wall();
        while (clock.wall() == now) std::this_thread::yield();
    }
    void dead_letter(const std::string& id, const std::string& webhook, const std::string& type) {
        write({log::Topic::kRetryDead, partition_of(webhook)},
              encode_dead(retry::Delivery{.id = id,
                                          .webhook = webhook,
                                          .event = json{{"type", type}}.dump(),
                                          .hop = 3,
                                          .attempts = 3,
                                          .accepted = clock.wall(),
                                          .last = retry::Outcome::refused}));
    }
    console::Answer list(const console::Parameters& asked) {
        return answered<console::Answer>([&](auto reply) { dead.list(asked, std::move(reply)); });
    }
    console::Plan check(const std::string& wanted) {
        return answered<console::Plan>(
            [&](auto planned) { dead.redrive().check(wanted, std::move(planned)); });
    }
    console::Answer run(const std::string& order) {
        return answered<console::Answer>(
            [&](auto reply) { dead.redrive().run(order, "127.0.0.1", std::move(reply)); });
    }
    json listed(const console::Parameters& asked) {
        const auto answer = list(asked);
        REQUIRE(answer.status == 200);
        const auto page = json::parse(answer.json);
        json ids = json::array();
        for (const auto& letter : page["letters"]) ids.push_back(letter["delivery"]);
        return ids;
    }
    /// How many records stand in the first tier of a webhook's partition.
    std::size_t sent_again(const std::string& webhook) {
        return log.with([&](log::MemoryLog& inner) {
            return inner.records({log::Topic::retry(0), partition_of(webhook)}).size();
        });
    }

    const AheadOfHost clock;  ///< of the log
    test::LockedLog log{log::make_memory_log({.partitions = kPartitions, .clock = &clock})};
    const std::shared_ptr<const core::KeyRing> keys =
        std::make_shared<const core::KeyRing>(core::KeyRing::generate());
    console::DeadLetters dead;

private:
    void webhook(const std::string& id, bool enabled) {
        const log::TopicPartition where{log::Topic::kWebhooks, partition_of(id)};
        retry::Webhook made;
        made.id = id;
        made.owner = "me";
        made.url = "https://example.org/";
        write(where, encode(made, retry::SecretBox{keys}));
        if (!enabled) {
            write(where, encode(id, retry::WebhookState{.enabled = false, .reason = "gone"}));
        }
    }
    void write(log::TopicPartition where, const core::Record& record) {
        log::BlockingExecutor own;
        const auto publisher = log.open_publisher(own);
        bool done = false;
        publisher->publish(where, record,
                           [&](const auto& appended) { done = appended.has_value(); });
        REQUIRE(own.wait_until([&] { return done; }, clock.mono() + 10s));
    }
    void run(const std::stop_token& stop) {
        auto webhooks = std::make_shared<console::WebhookPage>(kPartitions, keys, log, executor);
        auto fold = std::make_shared<console::DeadFold>(
            kPartitions, console::DeadFold::Context{log, executor, webhooks});
        dead.use(fold);
        while (!stop.stop_requested()) {
            executor.wait_until([&] { return stop.stop_requested(); }, clock.mono() + 1s);
        }
        dead.use(nullptr);
    }

    log::BlockingExecutor executor;
    std::jthread loop;  ///< last: it uses the others
};

}  // namespace

TEST_CASE("the dead letters of all existing webhooks are listed, by filter", "[console]") {
    World world;
    CHECK(world.listed({}).size() == 3);
    CHECK(world.listed({{"type", "order.paid"}}) == json{"b"});
    CHECK(world.listed({{"webhook", "switched-off"}}) == json{"c"});
    const auto answer = world.list({{"colour", "red"}});
    CHECK(answer.status == 400);
    CHECK_THAT(answer.json, Catch::Contains("webhook, type, reason"));
}

TEST_CASE("a plan counts, shows a sample and sends nothing", "[console]") {
    World world;
    const auto plan = world.check(R"({"type": "order.*"})");
    REQUIRE(plan.answer.status == 200);
    const auto reported = json::parse(plan.answer.json);
    CHECK(reported["matched"] == 3);
    CHECK(reported["disabled"] == 1);
    CHECK(reported["would_settle"] == 2);
    CHECK(reported["sample"].size() == 2);
    REQUIRE(plan.order);
    CHECK(world.listed({}).size() == 3);
    CHECK(world.sent_again("wanted") == 0);
}

TEST_CASE("a confirmed plan redrives the letters that it showed, and no later ones", "[console]") {
    World world;
    const auto plan = world.check(R"({"webhook": "wanted"})");
    REQUIRE(plan.order);
    // A letter from the same millisecond as the plan would also count as later.
    world.dead_letter("e", "wanted", "order.created");
    while (world.listed({}).size() != 4) std::this_thread::yield();
    const auto done = world.run(*plan.order);
    REQUIRE(done.status == 200);
    CHECK(json::parse(done.json)["settled"] == 2);
    CHECK(json::parse(done.json)["left"] == 0);
    CHECK(world.sent_again("wanted") == 2);
    CHECK(world.listed({}) == json{"c", "e"});
    CHECK(json::parse(world.run(*plan.order).json)["settled"] == 0);
}

// Fails where a plan covers the letters up to now by the host's clock: then it has none of those
// that died later by the log's.
TEST_CASE("a plan covers the letters that it showed, whatever the host's clock says",
          "[console][time]") {
    for (const auto log_ahead : {192h, -192h}) {
        World world{log_ahead};
        const auto plan = world.check("");
        REQUIRE(plan.order);
        CHECK(json::parse(plan.answer.json)["matched"] == 3);
        world.dead_letter("e", "wanted", "order.created");
        while (world.listed({}).size() != 4) std::this_thread::yield();
        CHECK(json::parse(world.run(*plan.order).json)["settled"] == 2);
        CHECK(world.listed({}) == json{"c", "e"});
    }
}

TEST_CASE("a plan without letters, or with a malformed filter, has nothing to confirm",
          "[console]") {
    World world;
    CHECK_FALSE(world.check(R"({"webhook": "switched-off"})").order);
    CHECK_FALSE(world.check(R"({"type": "other"})").order);
    for (const auto* bad : {"[]", "{", R"({"colour": "red"})", R"({"since": "once"})"}) {
        CAPTURE(bad);
        CHECK(world.check(bad).answer.status == 400);
    }
    CHECK(world.check(json{{"ids", std::vector<std::string>(100, std::string(32, 'x'))}}.dump())
              .answer.status == 400);
}
