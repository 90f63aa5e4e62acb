// How fast the tools read a large log: a million messages of ten thousand clients, most of them
// acknowledged a moment later. Shows all records of `notifications` as `beckon replay show` does,
// and traces messages as `beckon trace` does: of the log itself, and through the ops port of the
// process that holds it. Fails below what is promised.
#include "inspect/log/log_service.hpp"
#include "inspect/trace/message_trace.hpp"
#include "log/blocking_executor.hpp"
#include "log/embedded/embedded_log.hpp"
#include "log/kafka/kafka_log.hpp"
#include "records/events.hpp"
#include "support/temp_dir.hpp"
#include "tools/replay/replay_tool.hpp"
#include "tools/running/tool_log.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <time.h>

using namespace beckon;
using namespace std::chrono_literals;

namespace {

constexpr double kWantedPerSecond = 200'000;
constexpr double kWantedTrace_s = 1;
constexpr std::size_t kClients = 10'000;
constexpr std::size_t kUnderWay = 5'000;  ///< accepted before the first of them is acknowledged
constexpr std::size_t kWaitsOneIn = 10;   ///< of the messages; all others are acknowledged
constexpr core::Partition kPartitions = 16;
constexpr auto kTimeout = 60s;

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "tools_bench: %s\n", why.c_str());
    std::exit(1);
}

/// Writes messages, and their ends a while later.
class Writer {
public:
    explicit Writer(log::EventLog& log) : publisher_(log.open_publisher(executor_)) {
        for (std::size_t i = 0; i < kClients; ++i)
            clients_.push_back(core::Uaid{core::random_uuid4()});
    }

    void write(std::size_t messages) {
        for (std::size_t i = 0; i < messages; ++i) {
            put(i);
            if (i >= kUnderWay && i % kWaitsOneIn != 0) finish(refs_[i - kUnderWay]);
            await(kUnderWay);
        }
        await(0);
    }
    const std::vector<core::MessageRef>& written() const { return refs_; }
    std::size_t records() const { return records_; }

private:
    void put(std::size_t number) {
        core::NotificationAccepted event;
        event.uaid = clients_[number % kClients];
        event.key = core::new_message_key(clock_.wall());
        event.message_id =
            "an id of a message, which is some eighty characters long in a real installation";
        event.channel = channel_;
        event.ttl_s = 86'400;
        event.source = "0123456789abcdef";
        event.body = body_;
        refs_.push_back({event.uaid, event.key});
        publish(event.uaid, core::encode(event));
    }
    void finish(const core::MessageRef& message) {
        core::NotificationFinished event;
        event.uaid = message.uaid;
        event.key = message.key;
        event.reason = core::FinishReason::acked;
        publish(message.uaid, core::encode(event));
    }
    void publish(const core::Uaid& client, core::Record record) {
        ++records_;
        publisher_->publish({log::Topic::kNotifications, core::partition_of(client, kPartitions)},
                            std::move(record), [](const auto& appended) {
                                if (!appended) give_up(appended.error().message);
                            });
    }
    void await(std::size_t unanswered) {
        const auto fits = [&] { return publisher_->unanswered() <= unanswered; };
        if (!executor_.wait_until(fits, clock_.mono() + kTimeout)) give_up("the log hangs");
    }

    const core::SystemClock clock_;
    log::BlockingExecutor executor_;
    std::unique_ptr<log::Publisher> publisher_;
    std::vector<core::Uaid> clients_;
    std::vector<core::MessageRef> refs_;
    const core::ChannelId channel_{core::random_uuid4()};
    const std::string body_ = std::string(300, 'x');
    std::size_t records_ = 0;
};

/// The time of a task, and the CPU time of this process: on a busy machine only the latter counts.
struct Spent {
    double wall_s = 0;
    double cpu_s = 0;
};

double cpu_time_s() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

Spent spent_on(const auto& work) {
    const core::SystemClock clock;
    const auto began = clock.mono();
    const auto worked = cpu_time_s();
    work();
    return {.wall_s = std::chrono::duration<double>(clock.mono() - began).count(),
            .cpu_s = cpu_time_s() - worked};
}

struct Measured {
    double shown = 0;
    Spent show;
    Spent trace;  ///< the slowest

    double show_per_s() const { return shown / show.wall_s; }
};

Spent spent_on_showing(log::EventLog& log, std::size_t records) {
    const std::atomic<bool> stop = false;
    const tools::ReplayOptions options{
        .selection = {}, .partitions = kPartitions, .timeout = kTimeout};
    std::size_t bytes = 0;
    const tools::LineSink sink = [&](std::string_view lines) {
        bytes += lines.size();
        return true;
    };
    std::uint64_t shown = 0;
    const auto spent = spent_on([&] {
        const auto counts = tools::show(log, options, sink, stop);
        if (!counts) give_up(counts.error().message);
        shown = counts->shown;
    });
    if (shown < records || bytes == 0) give_up("not every record was shown");
    return spent;
}

/// Traces of messages early, late and in between. For a waiting message the trace reads all records
/// behind it, looking for its end.
Spent slowest_trace(log::EventLog& log, const std::vector<core::MessageRef>& messages) {
    Spent slowest;
    for (const auto share : {0.0, 0.25, 0.5, 0.99}) {
        auto at = static_cast<std::size_t>(share * static_cast<double>(messages.size()));
        for (const auto wanted :
             {inspect::TraceOutcome::finished, inspect::TraceOutcome::waiting}) {
            // The writer finishes message n at message n + kUnderWay, unless n is one of the
            // messages that wait.
            while (((at + kUnderWay) % kWaitsOneIn == 0) !=
                   (wanted == inspect::TraceOutcome::waiting))
                ++at;
            if (at + kUnderWay >= messages.size()) continue;
            inspect::TraceOptions options{.partitions = kPartitions,
                                          .now = core::SystemClock{}.wall()};
            options.limits.timeout = kTimeout;
            const auto spent = spent_on([&] {
                const auto trace = inspect::trace_message(log, messages[at], options);
                if (!trace) give_up(trace.error().message);
                if (trace->outcome != wanted) give_up("the trace says " + trace->verdict);
            });
            if (spent.wall_s > slowest.wall_s) slowest = spent;
        }
    }
    return slowest;
}

Measured measure(const char* name, log::EventLog& log, const Writer& writer) {
    const Measured found{.shown = static_cast<double>(writer.records()),
                         .show = spent_on_showing(log, writer.records()),
                         .trace = slowest_trace(log, writer.written())};
    std::printf("%s: replay show %.0f records/s (wanted: at least %.0f; %.2f us of CPU each)\n",
                name, found.show_per_s(), kWantedPerSecond, found.show.cpu_s * 1e6 / found.shown);
    std::printf("%s: the slowest trace %.3f s (wanted: below %.0f; %.3f s of CPU)\n", name,
                found.trace.wall_s, kWantedTrace_s, found.trace.cpu_s);
    std::fflush(stdout);
    return found;
}

bool good(const Measured& found) {
    return found.show_per_s() >= kWantedPerSecond && found.trace.wall_s < kWantedTrace_s;
}

nlohmann::json json_of(const Spent& spent) {
    return {{"wall_s", spent.wall_s}, {"cpu_s", spent.cpu_s}};
}

nlohmann::json json_of(const Measured& found) {
    return {{"show_per_s", found.show_per_s()},
            {"show", json_of(found.show)},
            {"trace", json_of(found.trace)}};
}

struct Arguments {
    std::string out;
    std::string kafka;  ///< empty: the embedded log
    std::size_t messages = 1'000'000;
};

Arguments parsed(int argc, char** argv) {
    Arguments all;
    for (int i = 1; i < argc; ++i) {
        const bool more = i + 1 < argc;
        if (std::strcmp(argv[i], "--kafka") == 0 && more) {
            all.kafka = argv[++i];
        } else if (std::strcmp(argv[i], "--messages") == 0 && more) {
            all.messages = std::strtoull(argv[++i], nullptr, 10);
        } else if (all.out.empty() && argv[i][0] != '-') {
            all.out = argv[i];
        } else {
            give_up("usage: tools_bench JSON-FILE [--kafka SERVERS] [--messages COUNT]");
        }
    }
    if (all.messages < 4 * kUnderWay) give_up("--messages must be 20000 or more");
    return all;
}

/// The figures, by name.
nlohmann::json measured(const Arguments& arguments, log::EventLog& log, bool& all_good) {
    Writer writer{log};
    const auto took = spent_on([&] { writer.write(arguments.messages); }).wall_s;
    std::printf("%zu records of %zu messages written in %.1f s\n", writer.records(),
                arguments.messages, took);
    nlohmann::json out{{"messages", arguments.messages}, {"records", writer.records()}};
    const auto add = [&](const char* name, log::EventLog& from) {
        const auto found = measure(name, from, writer);
        all_good = all_good && good(found);
        out[name] = json_of(found);
    };
    if (!arguments.kafka.empty()) {
        add("kafka", log);
        return out;
    }
    add("embedded", log);
    ops::Metrics metrics;
    ops::Health health;
    ops::OpsServer server{{.port = 0, .version = "1"}, metrics, health};
    const auto keys = core::KeyRing::generate();
    const auto service = inspect::mount_log_service(server, log, keys);
    const auto outside = tools::open_running_log({.port = server.port(), .version = {}},
                                                 inspect::log_proof(keys.newest()));
    add("through the ops port", *outside);
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    const auto arguments = parsed(argc, argv);
    const core::SystemClock clock;
    const test::TempDir directory;
    std::unique_ptr<log::EventLog> log;
    if (arguments.kafka.empty()) {
        log = log::open_embedded_log({.directory = directory.path() / "log",
                                      .sync = log::Sync::never,
                                      .partitions = kPartitions,
                                      .clock = &clock});
    } else {
        log::KafkaConfig kafka;
        kafka.bootstrap_servers = arguments.kafka;
        kafka.client_id = "tools-bench";
        log = log::open_kafka_log(kafka);
    }
    bool all_good = true;
    const auto out = measured(arguments, *log, all_good);
    if (!arguments.out.empty()) std::ofstream{arguments.out} << out.dump(2) << '\n';
    return all_good ? 0 : 1;
}
