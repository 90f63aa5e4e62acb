#include "log/embedded/embedded_log.hpp"
#include "rocks/memory.hpp"
#include "store/edge_fixture.hpp"
#include "store/edge_store.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#if __has_include(<rocksdb/advanced_cache.h>)  // Debian 13
#include <rocksdb/advanced_cache.h>
#endif
#include <rocksdb/cache.h>
#include <rocksdb/write_buffer_manager.h>

using namespace beckon;
using store::test::EdgeFixture;

namespace {

constexpr std::size_t kBytes = 32U << 20;
constexpr std::size_t kWriteBuffers = 8U << 20;
/// Blocks in use, which the cache cannot give back at once.
constexpr std::size_t kSlack = 8U << 20;
/// Twice the bound.
constexpr int kMessages = 16'000;
const std::string kBody(4'000, 'b');

struct Peak {
    explicit Peak(const rocks::Memory& of) : memory(of) {}
    void check() {
        buffers = std::max(buffers, memory.write_buffers->memory_usage());
        all = std::max(all, memory.cache->GetUsage());
    }
    const rocks::Memory& memory;
    std::size_t buffers = 0;
    std::size_t all = 0;
};

/// Full buffers are written: until then they take the place of blocks.
bool stabilises(const rocks::Memory& memory) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    while (memory.write_buffers->memory_usage() > kWriteBuffers) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::yield();
    }
    return true;
}

void fill_log(const std::filesystem::path& directory, const std::shared_ptr<rocks::Memory>& memory,
              Peak& peak) {
    const core::SystemClock clock;
    const auto log = log::open_embedded_log({.directory = directory,
                                             .sync = log::Sync::never,
                                             .partitions = 1,
                                             .memory = memory,
                                             .clock = &clock});
    test::WaitingExecutor executor;
    const auto publisher = log->open_publisher(executor);
    constexpr int kAtOnce = 500;
    for (int sent = 0; sent < kMessages; sent += kAtOnce) {
        int answered = 0;
        for (int i = 0; i < kAtOnce; ++i) {
            publisher->publish({log::Topic::kNotifications, 0},
                               {"key" + std::to_string(sent + i), kBody, {}},
                               [&](const auto& result) { answered += result ? 1 : 0; });
        }
        REQUIRE(executor.wait_until([&] { return answered == kAtOnce; }, std::chrono::minutes{1}));
        peak.check();
    }
}

void fill_store(EdgeFixture& edge, Peak& peak) {
    for (int i = 1; i <= kMessages; ++i) {
        edge.put(i, "m" + std::to_string(i), {.ttl_s = 86'400, .body = kBody});
        if (edge.part().commit_due()) edge.commit();
        peak.check();
    }
    edge.commit();
}

}  // namespace

// One after the other, so that a database whose memory did not count would leave nothing to see.
TEST_CASE("the stores and the embedded log of one process share one bound of memory") {
    const auto memory = std::make_shared<rocks::Memory>(kBytes, kWriteBuffers);
    const test::TempDir directory;
    Peak of_log{*memory};
    fill_log(directory / "log", memory, of_log);
    CHECK(of_log.buffers > kWriteBuffers / 4);
    CHECK(of_log.all < kBytes + kSlack);
    REQUIRE(memory->write_buffers->memory_usage() < kWriteBuffers / 8);  // it is closed

    store::EdgeStoreOptions options;
    options.memory = memory;
    EdgeFixture edge{options};
    Peak of_store{*memory};
    fill_store(edge, of_store);
    CHECK(of_store.buffers > kWriteBuffers / 4);
    CHECK(stabilises(*memory));
    edge.drain();  // reads every block
    of_store.check();
    CHECK(of_store.all > kBytes / 4);
    CHECK(of_store.all < kBytes + kSlack);
}
