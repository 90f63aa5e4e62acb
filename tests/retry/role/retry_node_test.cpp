// The role as a whole over the memory log: events in, requests out, nodes that come and go.
#include "retry/role/retry_node.hpp"

#include "core/base64url.hpp"
#include "records/delivery.hpp"
#include "records/done.hpp"
#include "retry/role/node_world.hpp"
#include "support/record_view.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;
using Json = nlohmann::json;

namespace {

constexpr core::Partition kPartitions = 4;

/// Passes everything on, but reading one topic fails while `fault` is set, as a disk or a broker
/// lets it, and brings nothing from `slow_at` on, as where much is to be read.
class UnreadableLog final : public log::EventLog {
public:
    UnreadableLog(log::EventLog& to, log::Topic topic) : to_(to), topic_(topic) {}
    std::optional<core::Fault> fault;
    std::optional<core::Offset> slow_at;
    int opened = 0;  ///< readers of the topic
    /// Readers notice it now, not when the next record comes.
    void fails(core::Fault with) {
        fault = with;
        for (const auto& ready : readies_) ready();
    }
    /// Readers go on that have found it unavailable.
    void works_again() {
        fault.reset();
        for (const auto& ready : readies_) ready();
    }

    std::unique_ptr<log::Publisher> open_publisher(core::Executor& executor) override {
        return to_.open_publisher(executor);
    }
    std::unique_ptr<log::PartitionReader> open_reader(log::TopicPartition where, core::Offset from,
                                                      core::Executor& executor,
                                                      std::function<void()> ready) override {
        auto reader = to_.open_reader(where, from, executor, ready);
        if (where.topic != topic_) return reader;
        ++opened;
        readies_.push_back([&executor, ready] { executor.post(ready); });
        return std::make_unique<Reader>(*this, std::move(reader));
    }
    void ends(log::TopicPartition where, core::Executor& executor,
              std::function<void(core::Result<log::Ends>)> done) override {
        to_.ends(where, executor, std::move(done));
    }
    void commit(std::string group, std::vector<log::GroupOffset> offsets, core::Executor& executor,
                std::function<void(core::Result<void>)> done) override {
        to_.commit(std::move(group), std::move(offsets), executor, std::move(done));
    }
    void committed(std::string group, std::vector<log::TopicPartition> partitions,
                   core::Executor& executor,
                   std::function<void(core::Result<std::vector<log::GroupOffset>>)> done) override {
        to_.committed(std::move(group), std::move(partitions), executor, std::move(done));
    }
    std::unique_ptr<log::Member> join(log::MemberOptions options, core::Executor& executor,
                                      std::function<void(const log::Members&)> changed) override {
        return to_.join(std::move(options), executor, std::move(changed));
    }

private:
    class Reader final : public log::PartitionReader {
    public:
        Reader(const UnreadableLog& of, std::unique_ptr<log::PartitionReader> to)
            : of_(of), to_(std::move(to)) {}
        core::Result<log::Taken> take(std::size_t max, const log::RecordSink& sink) override {
            if (of_.fault) return core::fail(*of_.fault, "the disk says no");
            if (of_.slow_at) {
                const auto left = std::max<core::Offset>(0, *of_.slow_at - position());
                if (left == 0) return core::fail(core::Fault::unavailable, "it is on its way");
                max = std::min(max, static_cast<std::size_t>(left));
            }
            return to_->take(max, sink);
        }
        core::Offset position() const override { return to_->position(); }
        void pause() override { to_->pause(); }
        void resume() override { to_->resume(); }

    private:
        const UnreadableLog& of_;
        std::unique_ptr<log::PartitionReader> to_;
    };
    log::EventLog& to_;
    const log::Topic topic_;
    std::vector<std::function<void()>> readies_;
};

struct World : test::NodeWorld {
    World() : NodeWorld(kPartitions) {}
};

struct Process : test::Process {
    Process(World& w, const std::string& name, std::optional<core::MonoTime> stop_at = {})
        : test::Process(w, name, {0s, 5s, 60s}, stop_at) {}
};

/// Writes 400 records; `make` gives partition and record of each.
void write_400(World& world,
               const std::function<std::pair<log::TopicPartition, core::Record>(int)>& make) {
    const auto publisher = world.log->open_publisher(world.executor);
    std::size_t written = 0;
    for (int i = 0; i < 400; ++i) {
        auto [where, record] = make(i);
        publisher->publish(where, std::move(record),
                           [&](const auto& at) { written += at.has_value(); });
    }
    world.run_for(1s);
    REQUIRE(written == 400);
}

}  // namespace

TEST_CASE("a record that is no event or delivery is counted, and records behind it go on",
          "[retry][node]") {
    World world;
    Process a{world, "a"};
    world.run_for(20s);
    REQUIRE(a.add_webhook("w", "order.*"));
    const auto publisher = world.log->open_publisher(world.executor);
    for (core::Partition p = 0; p < kPartitions; ++p) {
        publisher->publish({log::Topic::kEvents, p},
                           {.key = "x", .value = "no JSON", .headers = {}}, [](const auto&) {});
        publisher->publish({log::Topic::retry(0), p}, {.key = "w", .value = "{}", .headers = {}},
                           [](const auto&) {});
    }
    world.run_for(1s);
    for (int i = 0; i < 20; ++i) a.post(std::to_string(i), "order.created");
    world.run_for(1s);
    CHECK(world.received["http://w.example/"].size() == 20);
    world.run_for(2s);  // until the counts are known here
    CHECK(a.node.counts().tally.events[EventEnd::broken] == kPartitions);
    CHECK(a.node.counts().tally.deliveries[DeliveryEnd::broken] == kPartitions);
    CHECK(a.node.counts().tally.deliveries[DeliveryEnd::dead] == kPartitions);
    std::map<std::string, std::string> letters;  // where it stood → why it cannot be read
    for (core::Partition p = 0; p < kPartitions; ++p) {
        for (const auto& stored : world.log->records({log::Topic::kRetryDead, p})) {
            const auto letter = decode_delivery(*test::ReadBack{stored.record});
            if (!letter) continue;  // a read barrier
            CHECK(letter->webhook == kNoWebhook);
            const auto data = Json::parse(letter->event)["data"];
            letters[letter->id] = data["why"].get<std::string>();
            CHECK(data["value"] == core::base64url(data["topic"] == "events" ? "no JSON" : "{}"));
        }
    }
    CHECK(letters.size() == 2 * kPartitions);
    CHECK(a.node.dead_letters().size() == letters.size());
    for (const auto& [id, why] : letters) {
        CHECK(id.starts_with("rec_"));
        CHECK((why == "no event" || why == "no delivery"));
    }
}

namespace {

log::TopicPartition webhooks_of(const std::string& id) {
    return {log::Topic::kWebhooks, core::partition_of(id, kPartitions)};
}

/// Writes a record of a webhook, past the API.
void write_of(World& world, const std::string& id, core::Record record) {
    const auto publisher = world.log->open_publisher(world.executor);
    publisher->publish(webhooks_of(id), std::move(record), [](const auto&) {});
    world.run_for(100ms);
}

std::size_t records_of(const World& world, const std::string& id, const std::string& key,
                       bool tombstones) {
    const auto& all = world.log->records(webhooks_of(id));
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const auto& stored) {
        return stored.record.key == key && stored.record.value.has_value() != tombstones;
    }));
}

WebhookState gone_state() { return {.enabled = false, .reason = "gone"}; }

}  // namespace

TEST_CASE("records that are left of deleted webhooks are removed from the log, each once",
          "[retry][node]") {
    World world;
    write_of(world, "old", encode("old", gone_state()));
    Process one{world, "a"};
    Process other{world, "b"};
    world.run_for(20s);
    write_of(world, "w1", encode("w1", CostlyFilter{}));
    world.run_for(10s);
    for (const auto* id : {"old", "w1"}) {
        CAPTURE(id);
        const std::string key{id};
        CHECK(records_of(world, id, key + "/state", true) == 1);
        CHECK(records_of(world, id, key + "/filter", true) == 1);
    }
    CHECK(one.node.webhooks().without_webhook().empty());
    CHECK(other.node.webhooks().without_webhook().empty());
}

TEST_CASE("more records are left than one round removes: all of them are removed in the end",
          "[retry][node][bounds]") {
    constexpr std::size_t kEach = 2 * RetryNode::kLeftAtOnceMost + 1;
    World world;
    const auto publisher = world.log->open_publisher(world.executor);
    std::map<core::Partition, std::size_t> left;
    for (std::size_t i = 0; i < kPartitions * kEach; ++i) {
        const auto id = "old" + std::to_string(i);
        publisher->publish(webhooks_of(id), encode(id, gone_state()), [](const auto&) {});
        ++left[webhooks_of(id).partition];
    }
    world.run_for(1s);
    REQUIRE(left.at(0) > RetryNode::kLeftAtOnceMost);
    Process process{world, "a"};
    world.run_for(30s);
    CHECK(process.node.webhooks().without_webhook().empty());
    for (const auto& [partition, count] : left) {
        const auto& all = world.log->records({log::Topic::kWebhooks, partition});
        const auto tombstones = std::count_if(all.begin(), all.end(), [](const auto& stored) {
            return !stored.record.value && stored.record.key.starts_with("old");
        });
        CHECK(static_cast<std::size_t>(tombstones) == 2 * count);  // each once
    }
}

TEST_CASE("a state whose webhook comes later in the compacted log is not removed",
          "[retry][node]") {
    World world;
    Process process{world, "a"};
    world.run_for(20s);
    REQUIRE(process.add_webhook("w1", "t"));
    bool done = false;
    process.node.put_state("w1", gone_state(), [&](const auto& put) { done = put.has_value(); });
    world.run_for(1s);
    REQUIRE(done);
    REQUIRE(process.add_webhook("w1", "u"));
    const auto where = webhooks_of("w1");
    world.log->compact(where, world.log->records(where).back().offset + 1, false);
    Process later{world, "b"};
    world.run_for(30s);
    REQUIRE(later.node.webhooks().find("w1"));
    CHECK_FALSE(later.node.webhooks().find("w1")->state.enabled);
    CHECK(records_of(world, "w1", "w1/state", false) == 1);
    CHECK(records_of(world, "w1", "w1/state", true) == 0);
}

TEST_CASE("a state without a readable webhook is not removed", "[retry][node]") {
    World world;
    write_of(world, "w1", {.key = "w1", .value = "from a later build", .headers = {}});
    write_of(world, "w1", encode("w1", gone_state()));
    Process process{world, "a"};
    world.run_for(30s);
    REQUIRE(process.ready);
    CHECK(process.node.webhooks().find("w1") == nullptr);
    CHECK(records_of(world, "w1", "w1/state", true) == 0);
}

TEST_CASE("attempts change nothing about a webhook that is deleted meanwhile", "[retry][node]") {
    World world;
    Process process{world, "a"};
    world.run_for(20s);
    REQUIRE(process.add_webhook("w1", "t"));
    world.status["http://w1.example/"] = 410;
    ChangeTurns::Turn deletion;
    process.node.change_turns().take("w1", [&](const auto& turn) { deletion = turn; });
    process.post("1", "t");
    world.run_for(1s);
    REQUIRE(world.received.size() == 1);
    bool removed = false;
    process.node.remove_webhook("w1", [&](const auto& written) {
        removed = written.has_value();
        deletion.reset();
    });
    world.run_for(10s);
    CHECK(removed);
    CHECK(world.received["http://w1.example/"].size() == 1);
    CHECK(records_of(world, "w1", "w1/state", false) == 0);
    CHECK(process.node.webhooks().without_webhook().empty());
}

TEST_CASE("events whose topic was made anew are delivered from its start", "[retry][node]") {
    World world;
    std::size_t before = 0;
    {
        Process first{world, "a"};
        world.run_for(20s);
        REQUIRE(first.add_webhook("w1", "t"));
        for (int i = 0; i < 40; ++i) first.post("old-" + std::to_string(i), "t");
        world.run_for(5s);
        before = world.received["http://w1.example/"].size();
        CHECK(before == 40);
        first.node.stop([] {});
        world.run_for(1s);
    }
    for (core::Partition p = 0; p < kPartitions; ++p) {
        world.log->make_anew({log::Topic::kEvents, p});
        world.log->make_anew({log::Topic::retry(0), p});
    }
    Process second{world, "b"};
    world.run_for(20s);
    for (int i = 0; i < 8; ++i) second.post("new-" + std::to_string(i), "t");
    world.run_for(10s);
    CAPTURE(second.why_not);
    CHECK(second.ready);
    CHECK(world.received["http://w1.example/"].size() == before + 8);
}

TEST_CASE("a node that comes later gets its part, and is ready also without one", "[retry][node]") {
    World world;
    Process first{world, "a"};
    world.run_for(40s);
    CHECK(first.node.partitions_served() == 4);
    Process second{world, "b"};
    world.run_for(40s);
    CHECK(first.node.partitions_served() > 0);
    CHECK(second.node.partitions_served() > 0);
    CHECK(first.node.partitions_served() + second.node.partitions_served() == 4);
    std::vector<std::unique_ptr<Process>> more;
    for (const char* name : {"c", "d", "e", "f"}) {
        more.push_back(std::make_unique<Process>(world, name));
    }
    world.run_for(60s);
    for (const auto& one : more) CHECK(one->ready);
}

// Fails where a start says "waits for its place in the cluster" for minutes, if there are many.
TEST_CASE("a node that reads the webhooks says how far it is", "[retry][node]") {
    World world;
    write_400(world, [](int i) {  // webhooks that were removed
        return std::pair{log::TopicPartition{log::Topic::kWebhooks,
                                             static_cast<core::Partition>(i) % kPartitions},
                         core::Record{.key = "w" + std::to_string(i), .value = {}, .headers = {}}};
    });
    UnreadableLog log{*world.log, log::Topic::kWebhooks};
    log.slow_at = 25;
    world.through = &log;
    Process process{world, "a"};
    world.run_for(2s);
    CHECK_FALSE(process.ready);
    CHECK(process.why_not.starts_with("reads the webhooks: 24 % restored, "));
    for (const auto& [at, said] : {std::pair{50, "49 %"}, {75, "74 %"}}) {
        log.slow_at = at;
        log.works_again();
        world.run_for(2s);
        CAPTURE(process.why_not);
        CHECK(process.why_not.starts_with("reads the webhooks: " + std::string{said} +
                                          " restored, "));
    }
    log.slow_at.reset();
    log.works_again();
    world.run_for(20s);
    CHECK(process.ready);
}

// Fails where a take-over that has much to read says "being taken over" for as long.
TEST_CASE("a node that reads the tiers of a partition says how far it is", "[retry][node]") {
    World world;
    {
        Process before{world, "a"};
        world.run_for(20s);
        REQUIRE(before.ready);
    }
    // As endpoints do for bridges while no process has the role.
    write_400(world, [](int) {
        return std::pair{log::TopicPartition{log::Topic::retry(0), 0},
                         encode(Delivery{.id = "d", .webhook = "w", .event = "{}"})};
    });
    UnreadableLog log{*world.log, log::Topic::retry(0)};
    log.slow_at = 101;
    world.through = &log;
    Process process{world, "b"};
    world.run_for(5s);
    CHECK_FALSE(process.ready);
    CHECK(process.why_not.starts_with("partition 0: being taken over: 25 % restored, "));
    log.slow_at = 201;
    log.works_again();
    world.run_for(3s);
    CHECK(process.why_not.starts_with("partition 0: being taken over: 50 % restored, "));
    log.slow_at.reset();
    log.works_again();
    world.run_for(20s);
    CHECK(process.ready);
}

// Fails where a reader of `webhooks` that fails once is never opened again.
TEST_CASE("a topic that could not be read is read again, and readiness says why meanwhile",
          "[retry][node]") {
    World world;
    UnreadableLog log{*world.log, log::Topic::kWebhooks};
    world.through = &log;
    Process a{world, "a"};
    world.run_for(20s);
    REQUIRE(a.ready);
    log.fault = core::Fault::corrupt;
    world.through = world.log.get();
    Process b{world, "b"};  // another node, on which a webhook is made
    world.run_for(40s);
    REQUIRE(b.add_webhook("w", "t"));
    world.run_for(9s);
    CHECK_FALSE(a.ready);
    CHECK(a.why_not.find("webhooks") != std::string::npos);
    CHECK(a.why_not.find("the disk says no") != std::string::npos);
    const auto opened = log.opened;
    for (int i = 0; i < 20; ++i) b.post(std::to_string(i), "t");
    world.run_for(180s);  // longer than an unknown webhook is waited for
    CHECK(log.opened > opened);
    CHECK(log.opened < opened + 40);  // with back-off
    log.fault.reset();
    world.run_for(600s);
    CHECK(a.ready);
    CHECK(a.node.webhooks().find("w") != nullptr);
    const auto& ids = world.received["http://w.example/"];
    CHECK(std::set<std::string>{ids.begin(), ids.end()}.size() == 20);
}

// Fails where a partition that was paused, since it could not be read whose lease it is, stays so
// when the log is back before it serves.
TEST_CASE("a node whose log fails while its partitions start delivers when the log is back",
          "[retry][node]") {
    const auto seconds_later = GENERATE(range(20, 40));
    World world;
    auto first = std::make_unique<Process>(world, "a");
    world.run_for(20s);
    REQUIRE(first->add_webhook("w", "t"));
    const std::string url = "http://w.example/";
    world.status[url] = 503;
    for (int i = 0; i < 20; ++i) first->post(std::to_string(i), "t");
    world.run_for(1s);
    first.reset();
    world.status.clear();
    world.received.clear();

    const auto hold_tiers = [&](bool hold) {
        for (core::Partition p = 0; p < kPartitions; ++p) {
            world.log->hold_readers({log::Topic::retry(1), p}, hold);
        }
    };
    hold_tiers(true);  // so that the partitions need some seconds to start
    UnreadableLog log{*world.log, log::Topic::kRetryDone};
    world.through = &log;
    const Process second{world, "b"};
    world.run_for(std::chrono::seconds{seconds_later});
    log.fails(core::Fault::unavailable);
    world.run_for(6s);
    log.works_again();
    world.run_for(1s);
    hold_tiers(false);
    world.run_for(120s);
    CHECK(second.node.partitions_served() == kPartitions);
    const auto& ids = world.received[url];
    CHECK(std::set<std::string>{ids.begin(), ids.end()}.size() == 20);
}

// Fails where a fan-out matches events with the webhooks that it has read so far: a node that reads
// `webhooks` late dropped events for a webhook that another node had answered with 201.
TEST_CASE("an event that was posted after a webhook's 201 reaches it, whichever node fans it out",
          "[retry][node]") {
    const bool is_new = GENERATE(true, false);  // or it is enabled again
    World world;
    UnreadableLog log{*world.log, log::Topic::kWebhooks};
    world.through = &log;
    Process late{world, "a"};
    world.through = world.log.get();
    Process other{world, "b"};
    world.run_for(40s);
    REQUIRE(late.node.partitions_served() > 0);
    REQUIRE(other.node.partitions_served() > 0);
    const auto enable = [&](bool is) {
        bool done = false;
        other.node.put_state("w", {.enabled = is, .reason = is ? "" : "manual"},
                             [&](const auto& written) { done = written.has_value(); });
        world.run_for(1s);
        return done;
    };
    if (!is_new) REQUIRE((other.add_webhook("w", "t") && enable(false)));
    log.fault = core::Fault::unavailable;
    REQUIRE((is_new ? other.add_webhook("w", "t") : enable(true)));
    for (int i = 0; i < 20; ++i) other.post(std::to_string(i), "t");
    world.run_for(5s);
    CHECK(world.received["http://w.example/"].size() < 20);
    log.works_again();
    world.run_for(5s);
    const auto& ids = world.received["http://w.example/"];
    CHECK(std::set<std::string>{ids.begin(), ids.end()}.size() == 20);
}

// Fails where an event counts until its home has recorded it, which is done five times a second.
TEST_CASE("an event that this process has fanned out leaves its space at once", "[retry][node]") {
    World world;
    Process process{world, "a"};
    world.run_for(20s);
    for (int i = 0; i < 300; ++i) {
        const Json json{{"specversion", "1.0"},  {"id", std::to_string(i)},
                        {"source", "/shop"},     {"type", "t"},
                        {"partitionkey", "one"}, {"data", std::string(40'000, 'x')}};
        const auto event = *parse_structured(json.dump());
        REQUIRE(process.node.may_post(event, "shop"));
        process.node.post_event(event, "shop", [](const auto&) {});
        world.run_for(6ms);
    }
}

// Fails where the fan-out takes a record for a read barrier because of its key alone.
TEST_CASE("an event reaches its webhooks whatever its id is", "[retry][node]") {
    World world;
    Process process{world, "a"};
    world.run_for(20s);
    REQUIRE(process.add_webhook("w", "t"));
    for (const char* id : {"!", "!barrier/a", "!lease/1", "!webhooks/a"}) process.post(id, "t");
    world.run_for(2s);
    CHECK(world.received["http://w.example/"].size() == 4);
}

// Fails where a node whose time is nearly over keeps its leases: then nobody reads its partitions
// for a time-out and two seconds more.
TEST_CASE("a node that may start no more attempts hands its partitions over", "[retry][node]") {
    World world;
    Process stays{world, "a"};
    Process ends{world, "b", world.clock.mono() + 60s};
    world.run_for(30s);
    REQUIRE(ends.node.partitions_served() > 0);
    REQUIRE(stays.add_webhook("w", "t"));
    world.run_for(20s);  // 51 s: no time-out of 15 s fits
    CHECK(ends.node.partitions_served() == 0);
    CHECK(stays.node.partitions_served() == kPartitions);
    for (int i = 0; i < 20; ++i) stays.post(std::to_string(i), "t");
    world.run_for(1s);
    CHECK(world.received["http://w.example/"].size() == 20);
}

TEST_CASE("a node whose time is nearly over and that is alone keeps what it has", "[retry][node]") {
    World world;
    Process alone{world, "a", world.clock.mono() + 60s};
    world.run_for(50s);
    CHECK(alone.node.partitions_served() == kPartitions);
}

// Fails where letters that were passed over are never listed.
TEST_CASE("dead letters that were too many are listed once there is space", "[retry][node][dead]") {
    World world;
    Process process{world, "a"};
    world.run_for(20s);
    REQUIRE(process.add_webhook("w", "order.created"));
    const log::TopicPartition where{log::Topic::kRetryDead,
                                    core::partition_of(std::string_view{"w"}, kPartitions)};
    const auto publisher = world.log->open_publisher(world.executor);
    const auto write = [&](core::Record record) {
        publisher->publish(where, std::move(record), [](const auto&) {});
    };
    const auto settle = [&](int first, int last) {
        for (int i = first; i < last; ++i) {
            write(encode(Settled{.delivery = "d" + std::to_string(i), .webhook = "w", .hop = 3}));
        }
        world.run_for(1s);
    };
    for (int i = 0; i < 150; ++i) {
        write(encode_dead({.id = "d" + std::to_string(i),
                           .webhook = "w",
                           .event = R"({"type":"order.created"})",
                           .hop = 3,
                           .accepted = world.clock.wall()}));
    }
    world.run_for(5s);
    const auto& letters = process.node.dead_letters();
    REQUIRE(letters.size() == 100);
    CHECK(letters.passed_over() == 50);

    settle(50, 100);  // half of them are left, which is no space yet
    world.run_for(5s);
    CHECK(letters.size() == 50);
    settle(100, 101);
    world.run_for(5s);
    CHECK(letters.size() == 99);  // 49 that were listed before, and 50 that were not
    CHECK(letters.passed_over() == 0);
    REQUIRE(letters.find("d0") != nullptr);
    CHECK(letters.find("d0")->owner == "shop");
    CHECK(letters.find("d99") == nullptr);
    CHECK(process.node.knows_dead_letters());

    settle(0, 20);  // the fold goes on
    CHECK(letters.size() == 79);
}
