#pragma once

#include "net/io_loop.hpp"

#include <functional>
#include <future>

namespace beckon::test {

/// Runs `what` on the loop's thread, and returns when it is done.
inline void run_on(net::IoLoop& loop, const std::function<void()>& what) {
    std::promise<void> done;
    loop.post([&] {
        what();
        done.set_value();
    });
    done.get_future().wait();
}

}  // namespace beckon::test
