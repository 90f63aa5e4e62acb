#include "../endpoint_world.hpp"
#include "bare_beast.hpp"
#include "client/p256_key.hpp"
#include "core/base64url.hpp"
#include "load.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <thread>

#include <CLI/CLI.hpp>
#include <malloc.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

// The endpoint's cost of a POST over the memory log, next to a bare Beast server that answers 201
// at once, in the same run. One io thread each, 64 kept-alive connections from another process.

using namespace beckon;
using namespace beckon::test;

namespace {

constexpr double kBareShareAim = 0.60;  ///< of the bare server's requests/s, with a cached token
constexpr double kCpuAimUs = 25;        ///< of our own CPU per request, with a cached token
constexpr std::size_t kHeapGrowthMax = 4U << 20;  ///< in a soak, from its tenth to its end

struct Cpu {
    double user = 0;
    double system = 0;
};

Cpu cpu_now() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

long resident_kb() {
    long pages = 0;
    long resident = 0;
    if (FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
        std::fclose(file);
    }
    return resident * 4;
}

/// Bytes that were allocated and not freed, in all arenas.
std::size_t heap_bytes() {
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
}

/// One row of the table.
struct Row {
    std::string server;
    std::string what;
    bench::LoadResult load;
    double user_us = 0;  ///< CPU of the server per request
    double system_us = 0;

    double cpu_us() const { return user_us + system_us; }
    double requests_per_s() const { return static_cast<double>(load.answered) / load.seconds; }
    bool sound() const { return load.refused == 0 && load.answered > 0; }
};

Row measure(std::string server, std::string what, const bench::LoadOptions& load) {
    auto warm_up = load;
    warm_up.duration /= 4;
    warm_up.answers = 0;
    bench::run_load(warm_up);
    const auto before = cpu_now();
    Row row{.server = std::move(server), .what = std::move(what), .load = bench::run_load(load)};
    const auto after = cpu_now();
    const auto requests = static_cast<double>(std::max<std::uint64_t>(1, row.load.answered));
    row.user_us = (after.user - before.user) * 1e6 / requests;
    row.system_us = (after.system - before.system) * 1e6 / requests;
    return row;
}

void print_heading() {
    std::printf("%-8s  %-38s %10s %8s %8s %8s %9s %9s\n", "server", "", "requests/s", "CPU us",
                "user us", "sys us", "p50 us", "p99 us");
}

void print(const Row& row) {
    std::printf("%-8s  %-38s %10.0f %8.1f %8.1f %8.1f %9.0f %9.0f%s\n", row.server.c_str(),
                row.what.c_str(), row.requests_per_s(), row.cpu_us(), row.user_us, row.system_us,
                row.load.p50_us, row.load.p99_us, row.sound() ? "" : "  NOT SOUND");
    std::fflush(stdout);
}

nlohmann::json to_json(const std::vector<Row>& rows) {
    auto list = nlohmann::json::array();
    for (const auto& row : rows) {
        list.push_back({{"server", row.server},
                        {"what", row.what},
                        {"requests_per_s", row.requests_per_s()},
                        {"cpu_us", row.cpu_us()},
                        {"user_us", row.user_us},
                        {"system_us", row.system_us},
                        {"p50_us", row.load.p50_us},
                        {"p99_us", row.load.p99_us},
                        {"refused", row.load.refused},
                        {"generator_cpu_s", row.load.client_cpu_s}});
    }
    return list;
}

std::string vapid_header(const client::P256Key& key, const std::string& origin, int number) {
    const auto exp = std::chrono::duration_cast<std::chrono::seconds>(
                         core::SystemClock{}.wall().time_since_epoch())
                         .count() +
                     40'000 + number;
    const auto text = core::base64url(R"({"typ":"JWT","alg":"ES256"})") + "." +
                      core::base64url(R"({"aud":")" + origin + R"(","exp":)" + std::to_string(exp) +
                                      R"(,"sub":"mailto:a@example.com"})");
    return "Authorization: vapid t=" + text + "." + core::base64url(key.sign(text)) +
           ", k=" + core::base64url(key.public_point()) + "\r\n";
}

ingest::EndpointConfig bench_config() {
    ingest::EndpointConfig config;
    config.threads = 1;
    config.keep_alive = std::chrono::minutes{10};  // idle ones stay
    config.request_deadline = std::chrono::seconds{2};
    return config;
}

/// The endpoint, a subscription, and a log that forgets old records, since otherwise its growth
/// would be measured.
class Bench {
public:
    Bench()
        : world_(bench_config(), std::chrono::seconds{5}),
          path_(world_.subscribed()),
          key_(client::P256Key::generate()),
          trimmer_([this] { trim(); }) {}
    ~Bench() {
        stop_ = true;
        trimmer_.join();
    }

    bool wait_ready() { return world_.wait_ready(); }
    std::uint16_t port() const { return world_.endpoint_->port(); }
    /// `token`: numbers give different VAPID tokens; none: no Authorization.
    std::string request(std::size_t bytes, std::optional<int> token) const {
        const auto more =
            token ? vapid_header(key_, world_.endpoint_->origin(), *token) : std::string{};
        return EndpointWorld::post(path_, std::string(bytes, 'x'), more);
    }

private:
    void trim() {
        while (!stop_) {
            world_.log_.with([](log::MemoryLog& log) {
                for (core::Partition p = 0; p < EndpointWorld::kPartitions; ++p) {
                    const log::TopicPartition where{log::Topic::kNotifications, p};
                    const auto& records = log.records(where);
                    if (!records.empty()) log.truncate_before(where, records.back().offset);
                }
            });
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
        }
    }

    EndpointWorld world_;
    std::string path_;
    client::P256Key key_;
    std::atomic<bool> stop_{false};
    std::thread trimmer_;
};

/// A row of the comparison: a server and its requests.
struct Contender {
    const char* server;
    std::string what;
    std::uint16_t port;
    std::vector<std::string> requests;
};

std::vector<Contender> contenders(const Bench& bench, const bench::BareBeast& bare) {
    std::vector<Contender> list;
    for (const std::size_t bytes : {std::size_t{300}, std::size_t{4096}}) {
        const auto name = std::to_string(bytes) + " bytes";
        std::vector<std::string> fresh;
        for (int i = 0; i < 5000; ++i) fresh.push_back(bench.request(bytes, i));  // > the cache
        list.push_back({"bare", name, bare.port(), {bench.request(bytes, 0)}});
        list.push_back(
            {"endpoint", name + ", cached token", bench.port(), {bench.request(bytes, 0)}});
        list.push_back(
            {"endpoint", name + ", no token", bench.port(), {bench.request(bytes, std::nullopt)}});
        list.push_back(
            {"endpoint", name + ", every token verified", bench.port(), std::move(fresh)});
    }
    return list;
}

/// Runs each contender in turn, several times, so that other load of the machine hits all alike;
/// returns the median of each.
std::vector<Row> compare(const std::vector<Contender>& list, bench::LoadOptions load) {
    constexpr int kRounds = 5;
    load.duration /= kRounds;
    std::vector<std::vector<Row>> rounds(list.size());
    for (int round = 0; round < kRounds; ++round) {
        for (std::size_t i = 0; i < list.size(); ++i) {
            load.port = list[i].port;
            load.requests = list[i].requests;
            rounds[i].push_back(measure(list[i].server, list[i].what, load));
        }
    }
    std::vector<Row> rows;
    for (auto& of_one : rounds) {
        const auto middle = of_one.begin() + kRounds / 2;
        std::nth_element(of_one.begin(), middle, of_one.end(), [](const Row& a, const Row& b) {
            return a.requests_per_s() < b.requests_per_s();
        });
        rows.push_back(std::move(*middle));
        print(rows.back());
    }
    return rows;
}

/// Both sizes against the aims.
void print_verdict(const std::vector<Row>& rows) {
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
        if (rows[i].server != "bare") continue;
        const auto& cached = rows[i + 1];  // as in contenders()
        const auto share = cached.requests_per_s() / rows[i].requests_per_s();
        std::printf("%s: %.0f %% of the bare server (aim %.0f %%: %s), %.1f us (aim %.0f us: %s)\n",
                    cached.what.c_str(), share * 100, kBareShareAim * 100,
                    share >= kBareShareAim ? "met" : "NOT met", cached.cpu_us(), kCpuAimUs,
                    cached.cpu_us() <= kCpuAimUs ? "met" : "NOT met");
    }
}

/// Many requests; the heap must stay as it was after the first tenth.
int soak(const Bench& bench, bench::LoadOptions load, std::uint64_t requests) {
    load.port = bench.port();
    load.requests = {bench.request(300, 0), bench.request(4096, 1),
                     bench.request(300, std::nullopt)};
    load.answers = requests / 10;
    std::vector<std::size_t> heap;
    for (int part = 1; part <= 10; ++part) {
        const auto row = measure("endpoint", "soak, " + std::to_string(part) + " of 10", load);
        print(row);
        if (!row.sound()) return 1;
        heap.push_back(heap_bytes());
    }
    const auto most = *std::max_element(heap.begin(), heap.end());
    const bool flat = most <= heap.front() + kHeapGrowthMax;
    std::printf("\nheap after 1/10: %zu KB, at most later: %zu KB, resident %ld KB: %s\n",
                heap.front() / 1024, most / 1024, resident_kb(), flat ? "flat" : "GROWS");
    return flat ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"The endpoint's cost of a POST, next to a bare Beast server"};
    int seconds = 5;
    std::uint64_t soak_requests = 0;
    std::string json_file;
    app.add_option("--duration", seconds, "Seconds of each row")->capture_default_str();
    app.add_option("--soak", soak_requests, "Send so many requests instead and watch the heap");
    app.add_option("--json-file", json_file, "Where the rows go as JSON");
    CLI11_PARSE(app, argc, argv);

    Bench bench;
    if (!bench.wait_ready()) return 1;
    print_heading();
    bench::LoadOptions load;
    load.duration = std::chrono::seconds{seconds};
    if (soak_requests > 0) return soak(bench, load, soak_requests);
    const bench::BareBeast bare;
    const auto rows = compare(contenders(bench, bare), load);
    print_verdict(rows);
    if (!json_file.empty()) std::ofstream{json_file} << to_json(rows).dump(2) << "\n";
    return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.sound(); }) ? 0
                                                                                             : 1;
}
