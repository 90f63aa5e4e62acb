#include "retry/loop/loop.hpp"

#include <functional>

#include <catch2/catch.hpp>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

using namespace beckon;

// Fails if a round of tasks goes on with the tasks that they have posted: then a busy thread reads
// no socket.
TEST_CASE("descriptors have their turn while each task posts another one", "[retry][loop]") {
    retry::Loop loop;
    const int event = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
    bool ready = false;
    loop.watch(event, EPOLLIN, [&](std::uint32_t) { ready = true; });
    int rounds = 0;
    const std::function<void()> again = [&] {
        if (ready || ++rounds == 1'000) return loop.stop();
        loop.post(again);
    };
    loop.post(again);
    loop.run();
    loop.unwatch(event);
    ::close(event);
    CHECK(ready);
    CHECK(rounds <= 2);
}
