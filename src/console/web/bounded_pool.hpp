#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <httplib.h>
#include <pthread.h>

namespace beckon::console {

/// The threads of a cpp-httplib server. Its own pool queues without a bound; here whoever accepts
/// waits when the queue is full, and further connections wait in the kernel's.
class BoundedPool final : public httplib::TaskQueue {
public:
    /// Nothing with Debian 12's cpp-httplib; with Debian 13's, whether the task was accepted.
    using Accepted = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));

    BoundedPool(std::size_t threads, std::size_t waiting_max) : waiting_max_(waiting_max) {
        for (std::size_t i = 0; i < threads; ++i) {
            threads_.emplace_back([this, i] { run(i); });
        }
    }

    Accepted enqueue(std::function<void()> task) override {
        std::unique_lock lock{mutex_};
        room_.wait(lock, [this] { return tasks_.size() < waiting_max_; });
        tasks_.push_back(std::move(task));
        wake_.notify_one();
        return static_cast<Accepted>(true);
    }

    /// Runs what waits, and joins.
    void shutdown() override {
        {
            const std::scoped_lock lock{mutex_};
            stopping_ = true;
        }
        wake_.notify_all();
        for (auto& thread : threads_) thread.join();
    }

private:
    void run(std::size_t number) {
        pthread_setname_np(pthread_self(), ("console-http-" + std::to_string(number)).c_str());
        for (;;) {
            std::unique_lock lock{mutex_};
            wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
            if (tasks_.empty()) return;
            auto task = std::move(tasks_.front());
            tasks_.pop_front();
            room_.notify_one();
            lock.unlock();
            task();
        }
    }

    const std::size_t waiting_max_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable room_;
    std::deque<std::function<void()>> tasks_;  ///< under mutex_, as the next
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace beckon::console
