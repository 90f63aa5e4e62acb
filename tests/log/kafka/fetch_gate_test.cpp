// The answer to a fetch waits for the readers that earlier answers called; no broker is asked.
#include "log/kafka/reader_clients.hpp"

#include <chrono>
#include <future>
#include <memory>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using beckon::log::kafka::FetchGate;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t kPartitionBytes = 32U << 10;

steady_clock::duration time_of_wait(FetchGate& gate, std::size_t bytes = 100) {
    const auto began = steady_clock::now();
    gate.wait(bytes);
    return steady_clock::now() - began;
}

}  // namespace

TEST_CASE("an answer waits until the readers that were called have run", "[kafka]") {
    const auto gate = std::make_shared<FetchGate>(kPartitionBytes);
    CHECK(time_of_wait(*gate) < FetchGate::kWaitMax);
    auto first = gate->called();
    auto second = gate->called();
    first.reset();
    CHECK(time_of_wait(*gate) >= FetchGate::kWaitMax);  // and not for ever
    auto passed = std::async(std::launch::async, [&] { return time_of_wait(*gate); });
    second.reset();
    CHECK(passed.get() < 10s);
    CHECK(time_of_wait(*gate) < FetchGate::kWaitMax);
}

TEST_CASE("an answer that brings much does not wait", "[kafka]") {
    const auto gate = std::make_shared<FetchGate>(kPartitionBytes);
    const auto called = gate->called();
    CHECK(time_of_wait(*gate, kPartitionBytes) < FetchGate::kWaitMax);
    CHECK(time_of_wait(*gate, kPartitionBytes - 1) >= FetchGate::kWaitMax);
}

TEST_CASE("a reader may run after its client is gone", "[kafka]") {
    auto gate = std::make_shared<FetchGate>(kPartitionBytes);
    auto called = gate->called();
    const std::weak_ptr<FetchGate> alive = gate;
    gate.reset();
    CHECK_FALSE(alive.expired());
    called.reset();
    CHECK(alive.expired());
}
