#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/log_clock.hpp"
#include "log/event_log.hpp"

#include <functional>
#include <map>

namespace beckon::fold {

/// A publisher whose delivery reports teach the clocks of the partitions that they come from: each
/// report bounds the log's time from both sides. One thread, that of the executor; may be destroyed
/// while reports are under way: the callers of publish() still get them.
class TeachingPublisher final : public log::Publisher {
public:
    TeachingPublisher(log::Publisher& inner, core::Executor& executor, const core::Clock& clock)
        : inner_(inner), clock_(clock), lifetime_(executor) {}

    /// `log_clock` outlives this publisher.
    void teach(log::TopicPartition where, core::LogClock& log_clock) {
        log_clocks_.insert_or_assign(where, std::ref(log_clock));
    }

    void publish(log::TopicPartition where, core::Record record, log::AppendDone done) override;
    std::size_t unanswered() const override { return inner_.unanswered(); }

private:
    log::Publisher& inner_;
    const core::Clock& clock_;
    std::map<log::TopicPartition, std::reference_wrapper<core::LogClock>> log_clocks_;
    core::Lifetime lifetime_;
};

}  // namespace beckon::fold
