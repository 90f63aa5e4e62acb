// Threads of librdkafka that send and receive give way to those that work on what has come.
#include "log/kafka/kafka_log.hpp"
#include "log/kafka/worker.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/resource.h>

using namespace beckon;

namespace {

/// The niceness of each thread of this process whose name begins so.
std::vector<int> niceness_of(const std::string& name) {
    std::vector<int> out;
    for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::string its_name;
        std::ifstream{thread.path() / "comm"} >> its_name;
        if (!its_name.starts_with(name)) continue;
        const auto id = std::stoul(thread.path().filename().string());
        out.push_back(::getpriority(PRIO_PROCESS, static_cast<id_t>(id)));
    }
    return out;
}

}  // namespace

TEST_CASE("connections of producer and readers give way, and no other thread does", "[kafka]") {
    const auto own = ::getpriority(PRIO_PROCESS, 0);
    log::KafkaConfig config;
    config.bootstrap_servers = "127.0.0.1:1";
    test::WaitingExecutor executor;
    const auto log = log::open_kafka_log(config);
    const auto all = [](const std::vector<int>& threads, int niceness) {
        return std::all_of(threads.begin(), threads.end(),
                           [&](int one) { return one == niceness; });
    };
    CHECK(executor.wait_until([&] {
        const auto connections = niceness_of("rdk:broker");
        return connections.size() >= 2 && all(connections, own + log::kafka::kNiceness);
    }));
    CHECK(all(niceness_of("rdk:main"), own));
    CHECK(all(niceness_of("log-"), own));
}
