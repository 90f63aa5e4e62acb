#include "../endpoint_world.hpp"
#include "attackers.hpp"
#include "bare_beast.hpp"
#include "client/p256_key.hpp"
#include "core/base64url.hpp"
#include "load.hpp"

#include <cstdio>
#include <cstdlib>
#include <thread>

#include <sys/resource.h>

// `ingest_bench [seconds]`: what a POST costs the endpoint over the memory log, next to a bare
// Beast server that answers 201 at once. One JSON object per line; one io thread each.

using namespace beckon;
using namespace beckon::test;

namespace {

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

bench::LoadResult measure(const std::string& server, const std::string& what,
                          const bench::LoadOptions& load) {
    auto warm_up = load;
    warm_up.duration = std::chrono::milliseconds{500};
    bench::run_load(warm_up);
    const auto before = cpu_now();
    const auto memory_before = resident_kb();
    const auto result = bench::run_load(load);
    const auto after = cpu_now();
    const auto per_request = [&](double seconds) {
        return seconds * 1e6 / static_cast<double>(std::max<std::uint64_t>(1, result.answered));
    };
    std::printf(
        "{\"server\":\"%s\",\"what\":\"%s\",\"requests_per_s\":%.0f,\"cpu_us\":%.1f,"
        "\"user_us\":%.1f,\"system_us\":%.1f,\"p50_us\":%.0f,\"p99_us\":%.0f,\"refused\":%llu,"
        "\"client_us\":%.1f,\"grown_kb\":%ld}\n",
        server.c_str(), what.c_str(), static_cast<double>(result.answered) / result.seconds,
        per_request(after.user - before.user + after.system - before.system),
        per_request(after.user - before.user), per_request(after.system - before.system),
        result.p50_us, result.p99_us, static_cast<unsigned long long>(result.refused),
        per_request(result.client_cpu_s), resident_kb() - memory_before);
    std::fflush(stdout);
    return result;
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

}  // namespace

int main(int argc, char** argv) {
    bench::LoadOptions load;
    load.duration = std::chrono::seconds{argc > 1 ? std::atoi(argv[1]) : 3};

    ingest::EndpointConfig config;
    config.threads = 1;
    config.keep_alive = std::chrono::minutes{10};  // idle ones stay
    config.request_deadline = std::chrono::seconds{2};
    config.vapid_cache_entries = 1000;
    EndpointWorld world{config, std::chrono::seconds{5}};
    const auto path = world.subscribed();
    if (!world.wait_ready()) return 1;
    // The memory log forgets what is behind, or it would be its growth that is measured.
    std::atomic<bool> stop{false};
    std::thread trimmer{[&] {
        while (!stop) {
            world.log_.with([](log::MemoryLog& log) {
                for (core::Partition p = 0; p < EndpointWorld::kPartitions; ++p) {
                    const log::TopicPartition where{log::Topic::kNotifications, p};
                    const auto& records = log.records(where);
                    if (!records.empty()) log.truncate_before(where, records.back().offset);
                }
            });
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
        }
    }};
    bench::BareBeast bare;
    const auto key = client::P256Key::generate();
    const auto origin = world.endpoint_->origin();

    for (const std::size_t bytes : {std::size_t{300}, std::size_t{4096}}) {
        const std::string body(bytes, 'x');
        const auto name = std::to_string(bytes) + " bytes";
        const std::vector<std::string> cached{
            EndpointWorld::post(path, body, vapid_header(key, origin, 0))};
        load.requests = cached;
        load.port = bare.port();
        measure("bare", name, load);
        load.port = world.endpoint_->port();
        measure("endpoint", name + ", cached token", load);
        load.requests = {EndpointWorld::post(path, body)};
        measure("endpoint", name + ", no token", load);
        load.requests.clear();
        for (int i = 0; i < 5000; ++i) {  // more than the cache holds: each is verified
            load.requests.push_back(EndpointWorld::post(path, body, vapid_header(key, origin, i)));
        }
        measure("endpoint", name + ", every token verified", load);
    }
    // The same under attack: 10,000 idle connections, 500 drippers, endless bodies.
    load.requests = {
        EndpointWorld::post(path, std::string(300, 'x'), vapid_header(key, origin, 0))};
    measure("endpoint", "300 bytes, cached token, no attack", load);
    {
        const auto before = resident_kb();
        const bench::Attackers attackers{{.port = load.port, .request = load.requests.front()}};
        std::printf(
            "{\"server\":\"endpoint\",\"what\":\"10,000 idle and 500 dripping "
            "connections\",\"kb_per_connection\":%.2f}\n",
            static_cast<double>(resident_kb() - before) / 10'500);
        measure("endpoint", "300 bytes, cached token, under attack", load);
    }
    stop = true;
    trimmer.join();
}
