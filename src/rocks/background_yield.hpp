#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

#include <rocksdb/table_properties.h>

namespace beckon::rocks {

/// How often threads that work in the background may let others have their processor: each once in
/// `every`, and no more while what they have waited for that, together, is `share` of the time.
/// Where other programs use all processors a yield costs milliseconds, and flushes that come too
/// late hold up all writers. Thread-safe.
class YieldBudget {
public:
    using Duration = std::chrono::steady_clock::duration;
    using Time = std::chrono::steady_clock::time_point;
    struct Limits {
        Duration every = std::chrono::microseconds{100};
        double share = 0.3;
        Duration saved_max = std::chrono::milliseconds{10};  ///< of the share, for later
    };

    explicit YieldBudget(const Limits& limits) : limits_(limits) {}

    /// Whether the thread whose last yield ended at `last` may yield at `now`.
    bool allows(Time last, Time now);
    /// A yield took that long.
    void spend(Duration waited);

private:
    const Limits limits_;
    std::mutex mutex_;
    Time earned_until_{};
    Duration left_{};
};

/// For a family: the threads that write its tables (flushes and compactions)
/// yield between two blocks, so that a thread for which somebody waits has the processor after a
/// block, and not after the 3 ms or more for which the scheduler leaves it to one thread. All
/// databases of the process share one YieldBudget. `yield`: for tests.
std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> yields_between_blocks(
    std::function<void()> yield = nullptr);

}  // namespace beckon::rocks
