// How exactly and how fast delay tiers mature, and what waiting deliveries cost. One thread has the
// tiers of all partitions, as in the role, with a sink that finishes what is due at once; the
// embedded log, or Kafka with topics just made by `topics create --tiers 0s,2s,1h`. Prints each
// figure with its aim and whether that is met; fails only if something came early, was lost or came
// twice. On the embedded log also the parts above the tiers: HTTP deliveries, fairness
// (delivery_bench), and the role as a whole (role_bench).
#include "core/clock.hpp"
#include "core/logger.hpp"
#include "log/embedded/embedded_log.hpp"
#include "log/kafka/kafka_log.hpp"
#include "net/io_loop.hpp"
#include "retry/bench/delivery_bench.hpp"
#include "retry/bench/role_bench.hpp"
#include "retry/home/tiers/partition_tiers.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;
using std::chrono::steady_clock;
using std::chrono::system_clock;
using test::at_least;
using test::at_most;
using test::percentile;
using test::Report;

namespace {

constexpr core::Partition kPartitions = 8;
constexpr int kShort = 1;  ///< the tier of 2 s
constexpr int kLong = 2;   ///< that of an hour
constexpr std::size_t kEventBytes = 300;
constexpr std::size_t kUnanswered = 8'000;
constexpr double kPromoted = 1'000;

struct Figures {
    std::vector<double> errors_us;  ///< of the deliveries that were due
    std::size_t due = 0;
    std::size_t early = 0;
    std::size_t bytes = 0;  ///< of the records that were published
    steady_clock::time_point last{};
};

/// Passes publishes on, and remembers the last DoneRecord. Records that the measurement itself puts
/// into a tier stand for promotions of the home before, which its last DoneRecord covers.
class Tap final : public log::Publisher {
public:
    explicit Tap(std::unique_ptr<log::Publisher> to) : to_(std::move(to)) {}
    void publish(log::TopicPartition where, core::Record record, log::AppendDone done) override {
        if (where.topic == log::Topic::kRetryDone) last_[where.partition] = record;
        to_->publish(where, std::move(record),
                     [this, where, done = std::move(done)](const core::Result<log::Appended>& at) {
                         if (at) ends_[where] = std::max(ends_[where], at->offset + 1);
                         done(at);
                     });
    }
    std::size_t unanswered() const override { return to_->unanswered(); }
    std::optional<DoneRecord> done(core::Partition partition) const {
        const auto found = last_.find(partition);
        if (found == last_.end()) return std::nullopt;
        core::RecordView view;
        view.key = found->second.key;
        view.value = *found->second.value;
        auto done = *decode_done(view);
        for (auto& [tier, state] : done.tiers) {
            const auto end = ends_.find({log::Topic::retry(tier), partition});
            if (end != ends_.end()) state.scan = end->second;
        }
        return done;
    }

private:
    std::unique_ptr<log::Publisher> to_;
    std::map<core::Partition, core::Record> last_;
    std::map<log::TopicPartition, core::Offset> ends_;
};

std::size_t bytes_of(const core::Record& record) {
    auto bytes = record.key.size() + (record.value ? record.value->size() : 0);
    for (const auto& [name, value] : record.headers) bytes += name.size() + value.size();
    return bytes;
}

/// The log, a thread with the tiers, and their results.
class World {
public:
    explicit World(log::EventLog& log) : log_(log) {
        thread_.start();
        on_loop([this] { tap_ = std::make_unique<Tap>(log_.open_publisher(loop_)); });
    }
    ~World() {
        on_loop([this] {
            tiers_.clear();
            tap_.reset();
        });
    }

    void open() {
        started_ = 0;
        on_loop([this] {
            ++epoch_;
            for (core::Partition p = 0; p < kPartitions; ++p) open(p);
        });
        wait_for([this] { return started_ == kPartitions; });
    }
    void close() {
        stopped_ = 0;
        on_loop([this] {
            for (auto& [partition, tiers] : tiers_) tiers->stop([this] { ++stopped_; });
        });
        wait_for([this] { return stopped_ == kPartitions; });
        on_loop([this] { tiers_.clear(); });
    }
    /// So many deliveries, at a rate or as fast as the log takes them (0). While the tiers are open
    /// kPromoted a second go through tier 0 and are promoted to the next tier, as failed attempts
    /// are: the reports of these are what teaches the clock of a tier.
    void publish(int tier, std::size_t count, double per_second) {
        acked_ = 0;
        const bool open = !tiers_.empty();
        const auto each = static_cast<std::size_t>(std::max(1.0, per_second / kPromoted));
        const auto begun = steady_clock::now();
        for (std::size_t made = 0; made < count;) {
            auto wanted = count;
            if (per_second > 0) {
                const std::chrono::duration<double> passed = steady_clock::now() - begun;
                wanted = std::min(count, static_cast<std::size_t>(passed.count() * per_second));
            }
            wanted = std::min(wanted, acked_ + kUnanswered);
            if (wanted > made) {
                on_loop([&] {
                    for (; made < wanted; ++made) {
                        const bool through_0 = open && made / kPartitions % each == 0;
                        publish_one(through_0 ? 0 : tier);
                    }
                });
            }
            std::this_thread::sleep_for(200us);
        }
        wait_for([&] { return acked_ == count; });
    }
    Figures take() {
        Figures out;
        on_loop([&] { out = std::exchange(figures_, {}); });
        return out;
    }
    std::size_t due() {
        std::size_t count = 0;
        on_loop([&] { count = figures_.due; });
        return count;
    }
    static void wait_for(const std::function<bool()>& over) {
        while (!over()) std::this_thread::sleep_for(1ms);
    }

private:
    void on_loop(const std::function<void()>& what) { thread_.run_there(what); }
    void open(core::Partition p) {
        tiers_[p] = std::make_unique<PartitionTiers>(
            PartitionTiers::Options{.partition = p,
                                    .table = *TierTable::from({0s, 2s, 3600s}),
                                    .node = {"bench"},
                                    .epoch = epoch_,
                                    .from = tap_->done(p)},
            HomeContext{.log = log_,
                        .publisher = *tap_,
                        .executor = loop_,
                        .clock = clock_,
                        .tally = tally_},
            PartitionTiers::Events{.due = [this, p](const Due& due) { sink(p, due); },
                                   .started = [this] { ++started_; },
                                   .failed =
                                       [](const core::Error& why) {
                                           std::fprintf(stderr, "retry_bench: %s\n",
                                                        why.message.c_str());
                                           std::_Exit(1);
                                       }});
        tiers_[p]->start();
    }
    void sink(core::Partition p, const Due& due) {
        if (due.ticket.tier == 0) {
            loop_.post([this, p, due] { tiers_.at(p)->promote(due.ticket, due.delivery, kShort); });
            return;
        }
        const auto late = system_clock::now().time_since_epoch() - due.due.time_since_epoch();
        figures_.errors_us.push_back(std::chrono::duration<double, std::micro>(late).count());
        figures_.early += late < 0ns ? 1 : 0;
        ++figures_.due;
        figures_.last = steady_clock::now();
        loop_.post([this, p, ticket = due.ticket] { tiers_.at(p)->finish(ticket); });
    }
    void publish_one(int tier) {
        const auto number = next_++;
        const auto where = static_cast<core::Partition>(number % kPartitions);
        auto record = encode(Delivery{.id = std::to_string(number),
                                      .webhook = "w" + std::to_string(where),
                                      .event = std::string(kEventBytes, 'x')});
        figures_.bytes += bytes_of(record);
        tap_->publish({log::Topic::retry(tier), where}, std::move(record), [this](const auto& at) {
            if (!at) {
                std::fprintf(stderr, "retry_bench: %s\n", at.error().message.c_str());
                std::_Exit(1);
            }
            ++acked_;
        });
    }

    log::EventLog& log_;
    const core::SystemClock clock_;
    net::LoopThread thread_{"bench", clock_};
    net::IoLoop& loop_ = thread_.loop();
    std::unique_ptr<Tap> tap_;
    Tally tally_;
    std::map<core::Partition, std::unique_ptr<PartitionTiers>> tiers_;
    Figures figures_;
    core::Epoch epoch_ = 0;
    std::size_t next_ = 0;
    std::atomic<std::size_t> acked_ = 0;
    std::atomic<core::Partition> started_ = 0;
    std::atomic<core::Partition> stopped_ = 0;
};

/// Bytes that this process has received over the TCP connections that it has.
double received_bytes() {
    double sum = 0;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        tcp_info info{};
        socklen_t size = sizeof info;
        const int fd = std::stoi(entry.path().filename());
        if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) {
            sum += static_cast<double>(info.tcpi_bytes_received);
        }
    }
    return sum;
}

bool sound = true;
void expect(const char* what, std::size_t is, std::size_t wanted) {
    if (is == wanted) return;
    std::fprintf(stderr, "retry_bench: %s: %zu, expected %zu\n", what, is, wanted);
    sound = false;
}

/// The Java VM of a broker that has just started compiles its code, on the processors that are
/// measured: then a thread gets its own later by up to a tick of the scheduler (4 ms).
void warm_up(World& world, double seconds) {
    constexpr double kRate = 20'000;
    const auto count = static_cast<std::size_t>(kRate * seconds);
    world.publish(kShort, count, kRate);
    World::wait_for([&] { return world.due() >= count; });
}

void maturity(World& world, Report& report, double rate, double seconds) {
    const auto count = static_cast<std::size_t>(rate * seconds);
    world.take();
    world.publish(kShort, count, rate);
    World::wait_for([&] { return world.due() >= count; });
    std::this_thread::sleep_for(100ms);  // copies would come now
    auto figures = world.take();
    const auto name = "maturity error at " + std::to_string(static_cast<int>(rate)) + "/s, ";
    // Append times are cut to whole milliseconds: up to 1 ms of these figures is that.
    for (const auto& [part, text, aim] : {std::tuple{0.5, "p50", std::optional{at_most(0.2)}},
                                          std::tuple{0.99, "p99", std::optional{at_most(2)}},
                                          std::tuple{0.999, "p99.9", std::optional{at_most(10)}},
                                          std::tuple{1.0, "max", std::optional<test::Aim>{}}}) {
        report.add(name + text, percentile(figures.errors_us, part) / 1000, "ms", aim);
    }
    report.add(name + "early", static_cast<double>(figures.early), "", at_most(0));
    expect("deliveries", figures.due, count);
    expect("early", figures.early, 0);
}

void throughput(World& world, Report& report, std::size_t count, bool kafka) {
    world.close();
    world.take();
    world.publish(kShort, count, 0);
    const auto payload = static_cast<double>(world.take().bytes);
    std::this_thread::sleep_for(3s);  // all of them are over-due
    const auto bytes = received_bytes();
    const auto begun = steady_clock::now();
    world.open();
    World::wait_for([&] { return world.due() >= count; });
    const auto figures = world.take();
    const std::chrono::duration<double> took = figures.last - begun;
    report.add("matured records", static_cast<double>(count) / took.count(), "/s",
               at_least(200'000));
    if (kafka) {
        report.add("fetch ratio, received for each byte of these records",
                   (received_bytes() - bytes) / payload, "", at_most(1.3));
    }
    expect("deliveries", figures.due, count);
}

void waiting(World& world, Report& report, std::size_t count) {
    world.close();
    const auto before = test::resident_kib() / 1'024;
    world.publish(kLong, count, 0);
    world.open();
    std::this_thread::sleep_for(5s);
    const auto name = std::to_string(count) + " waiting, ";
    report.add(name + "memory of the process", test::resident_kib() / 1'024, "MiB", at_most(256));
    report.add(name + "of it since before them", test::resident_kib() / 1'024 - before, "MiB");
    expect("due", world.due(), 0);
}

struct Arguments {
    const char* file = nullptr;
    bool role_only = false;
    bool attempts_only = false;
    std::string kafka;
    std::size_t waiting = 10'000'000;
    bool quick = false;
};

Arguments parse(int argc, char** argv) {
    Arguments all;
    for (int i = 1; i < argc; ++i) {
        const bool more = i + 1 < argc;
        if (std::strcmp(argv[i], "--quick") == 0) {
            all.quick = true;
        } else if (std::strcmp(argv[i], "--role") == 0) {
            all.role_only = true;
        } else if (std::strcmp(argv[i], "--attempts") == 0) {
            all.attempts_only = true;
        } else if (std::strcmp(argv[i], "--kafka") == 0 && more) {
            all.kafka = argv[++i];
        } else if (std::strcmp(argv[i], "--waiting") == 0 && more) {
            all.waiting = std::stoul(argv[++i]);
        } else if (argv[i][0] != '-' && !all.file) {
            all.file = argv[i];
        } else {
            std::fprintf(stderr,
                         "usage: retry_bench [JSON-FILE] [--kafka SERVERS] [--waiting COUNT] "
                         "[--quick] [--role | --attempts]\n");
            std::exit(2);
        }
    }
    return all;
}

void measure(log::EventLog& log, const Arguments& arguments) {
    Report report;
    if (arguments.attempts_only) return test::measure_attempts_in_flight(report);
    if (arguments.role_only) {
        sound = test::measure_role(report, arguments.quick);
        if (arguments.file) report.write(arguments.file);
        return;
    }
    World world{log};
    world.open();
    const double seconds = arguments.quick ? 1 : 10;
    if (!arguments.kafka.empty()) warm_up(world, 2 * seconds);
    maturity(world, report, 1'000, seconds);
    maturity(world, report, 20'000, seconds);
    throughput(world, report, arguments.quick ? 50'000 : 1'000'000, !arguments.kafka.empty());
    waiting(world, report, arguments.quick ? 100'000 : arguments.waiting);
    if (arguments.kafka.empty()) {
        sound = test::measure_deliveries(report, arguments.quick) && sound;
        sound = test::measure_role(report, arguments.quick) && sound;
    }
    if (arguments.file) report.write(arguments.file);
}

}  // namespace

int main(int argc, char** argv) {
    const auto arguments = parse(argc, argv);
    core::configure_logging(core::LogLevel::error, core::LogFormat::text);
    if (!arguments.kafka.empty()) {
        const auto log = log::open_kafka_log({.bootstrap_servers = arguments.kafka,
                                              .client_id = "retry-bench",
                                              .librdkafka = {},
                                              .librdkafka_files = {}});
        measure(*log, arguments);
        return sound ? 0 : 1;
    }
    const auto directory =
        std::filesystem::temp_directory_path() / ("beckon-retry-bench-" + std::to_string(getpid()));
    const core::SystemClock clock;
    {
        const auto log = log::open_embedded_log({.directory = directory,
                                                 .sync = log::Sync::never,
                                                 .partitions = kPartitions,
                                                 .clock = &clock});
        measure(*log, arguments);
    }
    std::filesystem::remove_all(directory);
    return sound ? 0 : 1;
}
