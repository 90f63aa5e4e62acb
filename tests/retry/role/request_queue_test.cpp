#include "retry/role/request_queue.hpp"

#include "net/loop_thread.hpp"

#include <atomic>
#include <future>

#include <catch2/catch.hpp>

using namespace beckon;
using retry::RequestQueue;

TEST_CASE("requests to a thread that is busy are refused beyond their bytes, and then taken again",
          "[retry][role][bounds]") {
    const core::SystemClock clock;
    net::LoopThread thread{"retry", clock};
    thread.start();
    std::promise<void> until;
    thread.loop().post([go_on = until.get_future().share()] { go_on.wait(); });
    RequestQueue queue{thread.loop(), 1'000};
    std::atomic<int> done = 0;
    const auto put = [&](std::size_t bytes) { return queue.put(bytes, [&] { ++done; }); };
    int taken = 0;
    while (put(300)) ++taken;
    CHECK(taken == 3);
    CHECK(put(100));  // what fits is taken
    CHECK_FALSE(put(1));
    CHECK_FALSE(put(1'001));
    CHECK(done == 0);
    CHECK(queue.bytes() == 1'000);
    until.set_value();
    thread.run_there([] {});
    CHECK(done == 4);
    CHECK(queue.bytes() == 0);
    CHECK(put(1'000));
    thread.run_there([] {});
}
