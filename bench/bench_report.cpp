#include "bench/bench_report.hpp"

#include "bench/load/loop.hpp"
#include "core/json_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace beckon::bench {

namespace {

using nlohmann::json;

constexpr double kMicros = 1e6;

template <class... Values>
void add_line(std::string& table, const char* format, Values... values) {
    std::array<char, 256> line{};
    std::snprintf(line.data(), line.size(), format, values...);
    table += line.data();
    table += '\n';
}

json to_json(const Histogram& histogram) {
    return {{"count", histogram.count()},       {"mean_ms", histogram.mean() * 1e-6},
            {"p50_ms", ms(histogram.at(0.50))}, {"p90_ms", ms(histogram.at(0.90))},
            {"p99_ms", ms(histogram.at(0.99))}, {"p999_ms", ms(histogram.at(0.999))},
            {"max_ms", ms(histogram.max())}};
}

void add_latency(std::string& table, const char* name, const Histogram& histogram) {
    add_line(table, "  %-16s p50 %8.3f   p99 %8.3f   p99.9 %8.3f   max %8.3f ms", name,
             ms(histogram.at(0.50)), ms(histogram.at(0.99)), ms(histogram.at(0.999)),
             ms(histogram.max()));
}

double per_message_us(double cpu_s, const Traffic& traffic) {
    const auto frames = std::max<std::uint64_t>(traffic.tally.frames, 1);
    return cpu_s * kMicros / static_cast<double>(frames);
}

/// CPU of each process per message delivered and acknowledged.
json cpu_to_json(const Traffic& traffic) {
    json processes = json::array();
    double sum = 0;
    for (const auto& use : traffic.cpu) {
        sum += use.seconds;
        processes.push_back({{"name", use.name},
                             {"cpu_s", use.seconds},
                             {"us_per_message", per_message_us(use.seconds, traffic)},
                             {"cores", use.seconds / traffic.seconds}});
    }
    return {{"processes", processes},
            {"us_per_message", per_message_us(sum, traffic)},
            {"generator_us_per_message", per_message_us(traffic.own_cpu_s, traffic)},
            {"generator_cores", traffic.own_cpu_s / traffic.seconds}};
}

void add_cpu(std::string& table, const Traffic& traffic) {
    double sum = 0;
    for (const auto& use : traffic.cpu) {
        sum += use.seconds;
        add_line(table, "  cpu %-12s %7.1f us a message  (%.2f cores)", use.name.c_str(),
                 per_message_us(use.seconds, traffic), use.seconds / traffic.seconds);
    }
    if (traffic.cpu.size() > 1) {
        add_line(table, "  cpu %-12s %7.1f us a message", "all of them",
                 per_message_us(sum, traffic));
    }
    add_line(table, "  cpu %-12s %7.1f us a message  (%.2f cores, not counted above)", "generator",
             per_message_us(traffic.own_cpu_s, traffic), traffic.own_cpu_s / traffic.seconds);
}

json refused_to_json(const Traffic& traffic) {
    json refused = json::object();
    for (const auto& [status, count] : traffic.tally.refused) {
        refused[std::to_string(status)] = count;
    }
    return refused;
}

json slowest_to_json(const Tally& tally) {
    json slowest = json::array();
    for (const auto& one : tally.slowest) {
        slowest.push_back({{"at_ms", ms(one.at)},
                           {"to_201_ms", ms(one.to_reply)},
                           {"to_frame_ms", ms(one.to_frame)}});
    }
    return slowest;
}

/// When the slowest messages were due, if they are much slower than most: a server's first run
/// after its start, a pause of the disk.
void add_slowest(std::string& table, const Tally& tally) {
    constexpr std::int64_t kMuchSlower = 20;
    if (tally.slowest.empty() || tally.to_frame.max() < kMuchSlower * tally.to_frame.at(0.5)) {
        return;
    }
    std::string line = "  slowest, due at s: to 201 + to frame, ms:";
    for (const auto& one : tally.slowest) {
        std::array<char, 64> text{};
        std::snprintf(text.data(), text.size(), " %.2f: %.0f + %.0f;", ms(one.at) / 1'000,
                      ms(one.to_reply), ms(one.to_frame - one.to_reply));
        line += text.data();
    }
    table += line + '\n';
}

void add_faults(std::string& table, const Traffic& traffic) {
    const auto& tally = traffic.tally;
    for (const auto& [status, count] : tally.refused) {
        add_line(table, "  refused %d: %llu", status, static_cast<unsigned long long>(count));
    }
    if (tally.missing) {
        add_line(table, "  MISSING (201, but no frame): %llu",
                 static_cast<unsigned long long>(tally.missing));
    }
    if (tally.unanswered) {
        add_line(table, "  without an answer: %llu",
                 static_cast<unsigned long long>(tally.unanswered));
    }
    if (tally.duplicates) {
        add_line(table, "  delivered again: %llu",
                 static_cast<unsigned long long>(tally.duplicates));
    }
    if (traffic.clients_lost) add_line(table, "  CLIENTS LOST: %zu", traffic.clients_lost);
}

}  // namespace

struct BenchReport::Document {
    json root;
};

BenchReport::BenchReport(const BenchOptions& options) : document_(std::make_unique<Document>()) {
    document_->root = {{"label", options.label},
                       {"url", options.url},
                       {"connections", options.connections},
                       {"body_bytes", options.body_bytes},
                       {"senders", options.senders},
                       {"pipeline", options.pipeline},
                       {"vapid", options.vapid},
                       {"ttl_s", options.ttl_s},
                       {"warm_up_s", options.warm_up_s}};
    if (!options.label.empty()) add_line(table_, "%s", options.label.c_str());
}

BenchReport::~BenchReport() = default;

std::string BenchReport::document() const { return core::json_text(document_->root, 2); }

void BenchReport::add(const std::string& profile, const Traffic& traffic) {
    const auto& tally = traffic.tally;
    const double rate = static_cast<double>(tally.frames) / traffic.seconds;
    document_->root[profile] = {{"seconds", traffic.seconds},
                                {"messages_per_s", rate},
                                {"posted", tally.posted},
                                {"accepted", tally.accepted},
                                {"delivered", tally.delivered},
                                {"missing", tally.missing},
                                {"unanswered", tally.unanswered},
                                {"duplicates", tally.duplicates},
                                {"refused", refused_to_json(traffic)},
                                {"clients_lost", traffic.clients_lost},
                                {"slowest", slowest_to_json(tally)},
                                {"post_to_201", to_json(tally.to_reply)},
                                {"post_to_frame", to_json(tally.to_frame)},
                                {"201_to_frame", to_json(tally.after_reply)},
                                {"behind_schedule", to_json(tally.behind)},
                                {"cpu", cpu_to_json(traffic)}};
    add_line(table_, "%s: %.0f messages/s delivered and acknowledged, over %.1f s", profile.c_str(),
             rate, traffic.seconds);
    add_latency(table_, "POST to 201", tally.to_reply);
    add_latency(table_, "POST to frame", tally.to_frame);
    add_latency(table_, "201 to frame", tally.after_reply);
    add_latency(table_, "behind schedule", tally.behind);
    add_slowest(table_, tally);
    add_cpu(table_, traffic);
    add_faults(table_, traffic);
    sound_ = sound_ && tally.missing == 0 && traffic.clients_lost == 0 && tally.frames > 0;
}

void BenchReport::add(double rate, const std::vector<SustainedTrial>& trials,
                      const std::optional<Traffic>& traffic) {
    json list = json::array();
    add_line(table_, "rates tried:");
    for (const auto& trial : trials) {
        const auto verdict = trial.why.empty() ? "kept up" : "too much: " + trial.why;
        add_line(table_, "  %8.0f messages/s   p99 POST to frame %10.1f ms   %s", trial.rate,
                 ms(trial.p99_ns), verdict.c_str());
        list.push_back({{"rate", trial.rate},
                        {"p99_ms", ms(trial.p99_ns)},
                        {"kept_up", trial.why.empty()},
                        {"why", trial.why}});
    }
    if (traffic) {
        add("sustained", *traffic);
    } else {
        add_line(table_, "sustained: none of these rates");
        sound_ = false;
    }
    document_->root["sustained"]["rate"] = rate;
    document_->root["sustained"]["trials"] = list;
}

void BenchReport::add_fill(std::uint64_t messages, double seconds) {
    document_->root["fill"] = {{"messages", messages}, {"seconds", seconds}};
    add_line(table_, "fill: %llu messages wait for clients that are away, sent in %.1f s",
             static_cast<unsigned long long>(messages), seconds);
}

void BenchReport::add(const IdleMemory& memory) {
    const auto count = static_cast<double>(std::max<std::size_t>(memory.connections, 1));
    add_line(table_, "idle: %zu connections opened in %.2f s", memory.connections,
             memory.opening_s);
    json processes = json::array();
    for (const auto& process : memory.processes) {
        const auto grown = [&](std::uint64_t before, std::uint64_t after) {
            return (static_cast<double>(after) - static_cast<double>(before)) / count;
        };
        const double rss = grown(process.before.rss_bytes, process.after.rss_bytes);
        const double pss = grown(process.before.pss_bytes, process.after.pss_bytes);
        add_line(table_, "  memory %-12s %7.0f bytes RSS, %7.0f bytes Pss a connection",
                 process.name.c_str(), rss, pss);
        processes.push_back({{"name", process.name},
                             {"rss_bytes_per_connection", rss},
                             {"pss_bytes_per_connection", pss},
                             {"rss_bytes", process.after.rss_bytes},
                             {"pss_bytes", process.after.pss_bytes}});
    }
    document_->root["idle"] = {{"connections", memory.connections},
                               {"opening_s", memory.opening_s},
                               {"processes", processes}};
}

void BenchReport::add(const std::vector<DrainRound>& rounds) {
    json list = json::array();
    std::vector<double> times;
    for (const auto& round : rounds) {
        list.push_back(
            {{"from_hello_ms", round.from_hello_ms}, {"from_connect_ms", round.from_connect_ms}});
        times.push_back(round.from_hello_ms);
    }
    std::ranges::sort(times);
    const double median = times.empty() ? 0 : times[times.size() / 2];
    const std::size_t messages = rounds.empty() ? 0 : rounds.front().messages;
    const double per_s = median > 0 ? static_cast<double>(messages) * 1'000 / median : 0;
    document_->root["drain"] = {{"messages", messages},
                                {"median_from_hello_ms", median},
                                {"messages_per_s", per_s},
                                {"rounds", list}};
    add_line(table_,
             "drain: %zu pending messages in %.1f ms after the first hello, %.0f/s (median of %zu)",
             messages, median, per_s, rounds.size());
}

}  // namespace beckon::bench
