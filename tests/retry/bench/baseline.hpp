#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace beckon::test {

/// How delay topics are read elsewhere: a head that is not due is given back, and its partition is
/// read again from there when it is due (pause, seek, resume). Its cost is the reason why the tiers
/// hold their head instead. On the executor's thread.
class Baseline {
public:
    /// `due` is called with how much each record appended from now on came late.
    using Due = std::function<void(core::Duration late)>;
    Baseline(log::EventLog& log, log::Topic topic, core::Partition partitions,
             std::chrono::seconds delay, core::Executor& executor, Due due);
    ~Baseline();
    Baseline(const Baseline&) = delete;
    Baseline& operator=(const Baseline&) = delete;

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace beckon::test
