// How many queries to a cluster may wait; no broker is asked.
#include "log/kafka/group_offsets.hpp"
#include "log/kafka/worker.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include <catch2/catch.hpp>

using namespace beckon;
using log::kafka::GroupOffsets;
using log::kafka::KafkaEvents;
using log::kafka::QueryThread;

namespace {

log::KafkaConfig config() {
    log::KafkaConfig made;
    made.bootstrap_servers = "127.0.0.1:1";
    return made;
}

/// `max` find a place behind a query that waits for its answer, no more do, and all are asked.
template <class Jobs>
void saturate(Jobs& jobs, std::size_t max) {
    std::promise<void> begun;
    std::promise<void> answer;
    std::atomic<std::size_t> asked = 0;
    const auto ask = [&] { return jobs.post([&] { ++asked; }); };
    REQUIRE(jobs.post([&] {
        begun.set_value();
        answer.get_future().wait();
    }));
    begun.get_future().wait();
    std::size_t taken = 0;
    while (taken <= max && ask()) ++taken;
    CHECK(taken == max);
    CHECK_FALSE(ask());

    answer.set_value();
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    while (asked < max && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    CHECK(asked == max);
    CHECK(ask());
    jobs.stop();
}

}  // namespace

TEST_CASE("waiting queries beyond the bound are refused, and there is space again later") {
    KafkaEvents events{"127.0.0.1:1"};
    QueryThread queries{config(), events};
    saturate(queries, QueryThread::kQueriesMax);
}

TEST_CASE("queries about groups beyond the bound are refused, and later there is space") {
    GroupOffsets offsets{config(), std::make_shared<KafkaEvents>("127.0.0.1:1")};
    saturate(offsets, GroupOffsets::kJobsMax);
}
