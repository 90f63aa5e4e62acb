#include "reliability/loop.hpp"

#include "core/contain.hpp"

#include <chrono>
#include <future>
#include <utility>

#include <pthread.h>

namespace beckon::reliability {

namespace {

/// How long the thread waits at a time when it has nothing to do.
constexpr std::chrono::hours kWait{1};

}  // namespace

Loop::Loop(std::string name)
    : thread_([this, name = std::move(name)] {
          pthread_setname_np(pthread_self(), name.c_str());
          const core::SystemClock clock;
          const auto stopped = [this] { return stopped_; };
          const auto run = [&] { executor_.wait_until(stopped, clock.mono() + kWait); };
          while (!stopped_) core::contain(name, run);
      }) {}

Loop::~Loop() {
    executor_.post([this] { stopped_ = true; });
    thread_.join();
}

void Loop::run_there(const std::function<void()>& task) {
    std::packaged_task<void()> packaged{task};
    auto done = packaged.get_future();
    executor_.post([&packaged] { packaged(); });
    done.get();
}

}  // namespace beckon::reliability
