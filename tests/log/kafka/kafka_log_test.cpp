// Behaviour that only a real broker shows. Each case has topics of its own on one broker.
#include "log/kafka/kafka_log.hpp"

#include "support/kafka_topics.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include <catch2/catch.hpp>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace beckon;
using namespace beckon::test;
using log::Appended;
using log::Topic;
using log::TopicPartition;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

const TopicPartition kWhere{Topic::kNotifications, 0};

core::Record record(std::string key) { return {std::move(key), "value", {{"ce_id", "id"}}}; }

struct Kafka {
    explicit Kafka(core::Partition p = 4) : config(kafka_config(fresh_prefix())), partitions(p) {
        create_topics(config, some_topics({Topic::kNotifications, Topic::kOwnership}, partitions));
        open();
    }
    void open() { log = log::open_kafka_log(config); }

    /// Everything in a partition, in order.
    std::vector<std::pair<core::Offset, std::string>> read(TopicPartition where) {
        const auto ends = ends_of(where);
        std::vector<std::pair<core::Offset, std::string>> records;
        std::unique_ptr<log::PartitionReader> reader;
        reader = log->open_reader(where, 0, executor, [&] {
            for (;;) {
                const auto taken = reader->take(1000, [&](const core::RecordView& view) {
                    records.emplace_back(view.offset, std::string{view.key});
                });
                if (!taken || taken->drained) return;
            }
        });
        REQUIRE(executor.wait_until([&] { return reader->position() >= ends.end; }));
        return records;
    }
    /// A question waits for some seconds. A broker that was killed or stopped may need longer until
    /// it leads its partitions again, so an answer that it is unavailable is no answer here.
    log::Ends ends_of(TopicPartition where) {
        const auto until = steady_clock::now() + seconds{60};
        for (;;) {
            std::optional<core::Result<log::Ends>> ends;
            log->ends(where, executor, [&](auto result) { ends = result; });
            REQUIRE(executor.wait_until([&] { return ends.has_value(); }, seconds{30}));
            if (*ends) return **ends;
            INFO((*ends).error().message);
            REQUIRE((*ends).error().fault == core::Fault::unavailable);
            REQUIRE(steady_clock::now() < until);
        }
    }

    log::KafkaConfig config;
    core::Partition partitions;
    WaitingExecutor executor;
    std::unique_ptr<log::EventLog> log;
};

/// Publishes without a pause, a bounded number at a time, and keeps what was acknowledged.
struct Sender {
    Sender(Kafka& k, std::size_t under_way_max) : kafka(k), max(under_way_max) {
        publisher = kafka.log->open_publisher(kafka.executor);
    }
    void pump() {
        while (publisher->unanswered() < max) {
            const auto number = next++;
            const TopicPartition where{Topic::kNotifications,
                                       static_cast<core::Partition>(number) % kafka.partitions};
            publisher->publish(where, record(std::to_string(number)),
                               [this, number, where](const auto& result) {
                                   if (result) {
                                       acknowledged[where][result->offset] = std::to_string(number);
                                   } else {
                                       ++failed;
                                   }
                               });
        }
    }
    void pump_for(milliseconds time) {
        const auto until = steady_clock::now() + time;
        kafka.executor.wait_until([&] {
            pump();
            return steady_clock::now() > until;
        });
    }
    std::size_t count() const {
        std::size_t all = 0;
        for (const auto& [where, offsets] : acknowledged) all += offsets.size();
        return all;
    }

    Kafka& kafka;
    std::size_t max;
    std::unique_ptr<log::Publisher> publisher;
    int next = 0;
    std::size_t failed = 0;
    std::map<TopicPartition, std::map<core::Offset, std::string>> acknowledged;
};

constexpr milliseconds kSession{1500};

/// Another process in the group: this program again, since fork() takes no threads along.
class MemberProcess {
public:
    explicit MemberProcess(const log::KafkaConfig& config) {
        setenv("BECKON_TEST_SERVERS", config.bootstrap_servers.c_str(), 1);
        setenv("BECKON_TEST_PREFIX", config.prefix.c_str(), 1);
        pid_ = fork();
        if (pid_ != 0) return;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/proc/self/exe", "member", "[member-process]", static_cast<char*>(nullptr));
        _exit(127);
    }
    ~MemberProcess() {
        kill();
        waitpid(pid_, nullptr, 0);
    }
    MemberProcess(const MemberProcess&) = delete;
    MemberProcess& operator=(const MemberProcess&) = delete;

    void kill() const { ::kill(pid_, SIGKILL); }

private:
    pid_t pid_ = -1;
};

/// Every acknowledged record stands at its offset; none stands twice; all in order of publish. But
/// where publishes timed out, records that were under way beside them may stand a second time
/// (docs/facts/kafka.md#effects-of-a-time-out-on-other-records).
void check_nothing_lost(Kafka& kafka, const Sender& sender) {
    for (const auto& [where, offsets] : sender.acknowledged) {
        const auto records = kafka.read(where);
        const std::map<core::Offset, std::string> by_offset(records.begin(), records.end());
        std::size_t missing = 0;
        for (const auto& [offset, key] : offsets) {
            const auto found = by_offset.find(offset);
            if (found == by_offset.end() || found->second != key) ++missing;
        }
        CHECK(missing == 0);
        std::set<std::string> keys;
        int last = -1;
        for (const auto& [offset, key] : records) {
            const bool first = keys.insert(key).second;
            CHECK((first || sender.failed > 0));
            if (!first) continue;
            CHECK(std::stoi(key) > last);
            last = std::stoi(key);
        }
    }
}

}  // namespace

TEST_CASE("a produce right after create loses nothing") {
    for (int round = 0; round < 3; ++round) {
        Kafka kafka{16};
        Sender sender{kafka, 2000};
        sender.pump();
        REQUIRE(kafka.executor.wait_until([&] { return sender.publisher->unanswered() == 0; }));
        CHECK(sender.failed == 0);
        CHECK(sender.count() == 2000);
        check_nothing_lost(kafka, sender);
    }
}

TEST_CASE("a reader that is behind does not wait for the next fetch") {
    constexpr int kCount = 5'000;
    Kafka kafka{1};
    kafka.config.partitions_read = 1;
    kafka.config.fetch_bytes = 128U << 10;  // 32 KiB for the partition
    kafka.open();
    const auto publisher = kafka.log->open_publisher(kafka.executor);
    const std::string body(1000, 'b');
    for (int i = 0; i < kCount; ++i) {
        publisher->publish(kWhere, core::Record{std::to_string(i), body, {}}, [](const auto&) {});
        if (i % 100 == 0) kafka.executor.wait_until([&] { return publisher->unanswered() == 0; });
    }
    REQUIRE(kafka.executor.wait_until([&] { return publisher->unanswered() == 0; }));
    // Each fetch brings a batch, which is more than the queue may hold: with a pause of a second
    // after each of the 150 batches this would time out.
    CHECK(kafka.read(kWhere).size() == kCount);
}

TEST_CASE("records that are under way when their publisher ends are written") {
    Kafka kafka{1};
    constexpr int kRecords = 3'000;
    auto publisher = kafka.log->open_publisher(kafka.executor);
    // So many at once that the last ones wait for the requests before theirs.
    const auto began = steady_clock::now();
    int number = 0;
    for (; number < kRecords || steady_clock::now() < began + milliseconds{250}; ++number) {
        REQUIRE(kafka.executor.wait_until([&] { return publisher->unanswered() < 2'000; }));
        publisher->publish(kWhere, record(std::to_string(number)), [](const auto&) {});
    }
    publisher.reset();
    REQUIRE(kafka.executor.wait_until(
        [&] { return static_cast<int>(kafka.read(kWhere).size()) == number; }));
}

namespace {

/// A topic whose limit is below the batches that librdkafka makes.
struct SmallBatches : Kafka {
    static constexpr int kRecords = 3'000;
    static constexpr std::size_t kLimit = 65'536;

    SmallBatches() : Kafka{1} {
        limit(kLimit);
        publisher = log->open_publisher(executor);
    }
    void limit(std::size_t bytes) {
        settings["max.message.bytes"] = std::to_string(bytes);
        set_topic(config, Topic::kNotifications, settings);
        REQUIRE(executor.wait_until([&] { return facts().message_bytes_max == bytes; }));
    }
    log::TopicFacts facts() {
        executor.post([] {});
        return log::facts_of(log::open_kafka_admin(config)->describe().value());
    }
    void open_again() {
        publisher.reset();
        open();
        publisher = log->open_publisher(executor);
    }
    void publish(int count, std::size_t bytes) {
        const std::string body(bytes, 'b');
        for (int i = 0; i < count; ++i) {
            publisher->publish(kWhere, {std::to_string(i), body, {}}, [&](const auto& answer) {
                ++answers[answer ? std::nullopt : std::optional{answer.error().fault}];
            });
        }
    }
    /// The answers, by fault.
    std::map<std::optional<core::Fault>, int> all_answers() {
        REQUIRE(executor.wait_until([&] { return publisher->unanswered() == 0; }, seconds{30}));
        return std::exchange(answers, {});
    }
    using Answers = std::map<std::optional<core::Fault>, int>;

    std::map<std::string, std::string> settings =
        some_topics({Topic::kNotifications}, 1).front().settings;
    std::unique_ptr<log::Publisher> publisher;
    Answers answers;
};

}  // namespace

TEST_CASE("a record is too large for itself alone, not for its neighbours") {
    SmallBatches kafka;
    kafka.config.message_bytes_max = kafka.facts().message_bytes_max;
    kafka.config.publish_timeout = seconds{20};
    kafka.open_again();
    const bool away = GENERATE(false, true);
    if (away) KafkaBroker::shared().pause();
    kafka.publish(kafka.kRecords, 300);
    kafka.publish(1, kafka.kLimit);
    kafka.publish(1, kafka.kLimit - 200);  // the batch around it has space for it
    if (away) kafka.executor.post_after(seconds{2}, [] { KafkaBroker::shared().resume(); });
    CHECK(kafka.all_answers() ==
          SmallBatches::Answers{{std::nullopt, kafka.kRecords + 1}, {core::Fault::too_large, 1}});
}

TEST_CASE("a limit that is lowered while we publish costs a moment, and no record its place") {
    SmallBatches kafka;
    const SmallBatches::Answers all{{std::nullopt, kafka.kRecords}};
    // Batches may be small enough by chance before the producer makes no larger ones.
    int in_a_row = 0;
    for (int round = 0; round < 40 && in_a_row < 5; ++round) {
        kafka.publish(kafka.kRecords, 300);
        const auto last = kafka.all_answers();
        CHECK_FALSE(last.contains(core::Fault::too_large));
        in_a_row = last == all ? in_a_row + 1 : 0;
    }
    CHECK(in_a_row == 5);
    kafka.publish(1, kafka.kLimit);
    CHECK(kafka.all_answers() == SmallBatches::Answers{{core::Fault::too_large, 1}});
}

TEST_CASE("a broker that is killed while we publish loses nothing that was acknowledged") {
    Kafka kafka;
    Sender sender{kafka, 500};
    sender.pump_for(milliseconds{300});
    for (int round = 0; round < 2; ++round) {
        const auto before = sender.count();
        KafkaBroker::shared().kill();
        KafkaBroker::shared().restart_without_waiting();
        // Until it acknowledges again, and some more.
        REQUIRE(kafka.executor.wait_until(
            [&] {
                sender.pump();
                return sender.count() > before + 2000;
            },
            seconds{60}));
    }
    REQUIRE(kafka.executor.wait_until([&] { return sender.publisher->unanswered() == 0; }));
    CHECK(sender.count() > 4000);
    check_nothing_lost(kafka, sender);
}

TEST_CASE("a broker that hangs is answered for in time, and is used again when it goes on") {
    Kafka kafka;
    const auto publisher = kafka.log->open_publisher(kafka.executor);
    const auto publish = [&](const std::string& key) {
        std::optional<core::Result<Appended>> answer;
        publisher->publish(kWhere, record(key), [&](const auto& r) { answer = r; });
        const auto began = steady_clock::now();
        REQUIRE(kafka.executor.wait_until([&] { return answer.has_value(); }, seconds{30}));
        return std::pair{*answer, steady_clock::now() - began};
    };
    REQUIRE(publish("before").first);
    KafkaBroker::shared().pause();
    const auto [answer, took] = publish("while it hangs");
    KafkaBroker::shared().resume();
    CHECK_FALSE(answer);
    CHECK(took < kafka.config.publish_timeout + seconds{1});
    bool through = false;
    const auto until = steady_clock::now() + seconds{20};
    while (!through && steady_clock::now() < until) through = publish("after").first.has_value();
    CHECK(through);
    // The record of unknown outcome is there once or not at all.
    std::size_t unknown = 0;
    for (const auto& [offset, key] : kafka.read(kWhere)) unknown += key == "while it hangs";
    CHECK(unknown <= 1);
    KafkaBroker::shared().await_answer();  // the cluster had given it up
}

TEST_CASE("a member whose process is killed is dead to the others") {
    Kafka kafka;
    std::optional<log::Members> seen;
    const auto member = kafka.log->join({"edge.members", core::NodeId{"aaaa"}, kSession},
                                        kafka.executor, [&](const auto& now) { seen = now; });
    const auto wait_for = [&](std::size_t alive) {
        return kafka.executor.wait_until(
            [&] {
                member->still_alive();
                return seen && seen->alive.size() == alive;
            },
            seconds{30});
    };
    const std::function<void()> tick = [&] { kafka.executor.post_after(milliseconds{100}, tick); };
    tick();  // wait_for() looks again at each
    REQUIRE(wait_for(1));
    const MemberProcess other{kafka.config};
    REQUIRE(wait_for(2));
    CHECK(seen->first);
    const auto killed = steady_clock::now();
    other.kill();
    REQUIRE(wait_for(1));
    CHECK(seen->alive == std::vector{core::NodeId{"aaaa"}});
    CHECK(steady_clock::now() - killed < 4 * kSession);
}

// Not a test: the other process of the case above.
TEST_CASE("(member process)", "[.][member-process]") {
    log::KafkaConfig config;
    config.bootstrap_servers = std::getenv("BECKON_TEST_SERVERS");
    config.prefix = std::getenv("BECKON_TEST_PREFIX");
    WaitingExecutor executor;
    const auto log = log::open_kafka_log(config);
    const auto member =
        log->join({"edge.members", core::NodeId{"bbbb"}, kSession}, executor, [](const auto&) {});
    const std::function<void()> tick = [&] {
        member->still_alive();
        executor.post_after(milliseconds{100}, tick);
    };
    tick();
    executor.wait_until([] { return false; }, seconds{120});
}

TEST_CASE("a partition of a topic that somebody deleted and made again is another one") {
    Kafka kafka{1};
    const TopicPartition where{Topic::kNotifications, 0};
    const auto publish = [&](int count) {
        core::Timestamp youngest{};
        const auto publisher = kafka.log->open_publisher(kafka.executor);
        for (int i = 0; i < count; ++i) {
            std::optional<core::Result<Appended>> answer;
            publisher->publish(where, record("a"), [&](const auto& result) { answer = result; });
            REQUIRE(kafka.executor.wait_until([&] { return answer.has_value(); }, seconds{30}));
            REQUIRE(*answer);
            youngest = (*answer)->time;
        }
        return youngest;
    };
    const auto is_made_anew = [&](log::ReadUpTo read) {
        std::optional<core::Result<bool>> answer;
        kafka.log->is_made_anew(where, read, kafka.executor,
                                [&](const auto& result) { answer = result; });
        REQUIRE(kafka.executor.wait_until([&] { return answer.has_value(); }, seconds{30}));
        REQUIRE(*answer);
        return **answer;
    };
    const log::ReadUpTo read{.next = 3, .youngest = publish(3)};
    CHECK_FALSE(is_made_anew(read));
    publish(2);
    CHECK_FALSE(is_made_anew(read));

    kafka.log.reset();
    const auto admin = log::open_kafka_admin(kafka.config);
    REQUIRE(admin->destroy({Topic::kNotifications}));
    create_topics(kafka.config, some_topics({Topic::kNotifications}, 1));
    kafka.open();
    CHECK_FALSE(is_made_anew(read));  // its end shows it
    publish(5);
    CHECK(is_made_anew(read));
}
