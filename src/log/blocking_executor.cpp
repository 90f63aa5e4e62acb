#include "log/blocking_executor.hpp"

#include <algorithm>
#include <utility>

namespace beckon::log {

void BlockingExecutor::post(Task task) { post_after({}, std::move(task)); }

void BlockingExecutor::post_after(core::Duration delay, Task task) {
    const std::scoped_lock lock{mutex_};
    tasks_.emplace(clock_.mono() + delay, std::move(task));
    wake_.notify_one();
}

bool BlockingExecutor::wait_until(const std::function<bool()>& done, core::MonoTime until) {
    while (!done()) {
        std::unique_lock lock{mutex_};
        const auto now = clock_.mono();
        if (!tasks_.empty() && tasks_.begin()->first <= now) {
            auto task = tasks_.extract(tasks_.begin());
            lock.unlock();
            task.mapped()();
            continue;
        }
        if (now >= until) return false;
        const auto next = tasks_.empty() ? until : std::min(until, tasks_.begin()->first);
        wake_.wait_for(lock, next - now);
    }
    return true;
}

}  // namespace beckon::log
