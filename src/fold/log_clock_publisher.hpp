#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/log_clock.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <utility>

namespace beckon::fold {

/// A publisher that hands the time of each delivery report to the log clock of its partition: a
/// report bounds the log's time from both sides. One thread, that of the executor; may be destroyed
/// while reports are under way: the callers of publish() still get them.
class LogClockPublisher final : public log::Publisher {
public:
    LogClockPublisher(log::Publisher& inner, core::Executor& executor, const core::Clock& clock)
        : inner_(inner), clock_(clock), lifetime_(executor) {}

    /// `log_clock` outlives this publisher.
    void add_clock(log::TopicPartition where, core::LogClock& log_clock) {
        log_clocks_.insert_or_assign(where, std::ref(log_clock));
    }

    void publish(log::TopicPartition where, core::Record record, log::AppendDone done) override {
        const auto known = log_clocks_.find(where);
        if (known != log_clocks_.end()) {
            done = [term = lifetime_.term(), &log_clock = known->second.get(), sent = clock_.mono(),
                    done = std::move(done)](const core::Result<log::Appended>& at) {
                if (at && !term.over()) log_clock.reported(at->time, at->offset, sent);
                done(at);
            };
        }
        inner_.publish(where, std::move(record), std::move(done));
    }
    std::size_t unanswered() const override { return inner_.unanswered(); }

private:
    log::Publisher& inner_;
    const core::Clock& clock_;
    std::map<log::TopicPartition, std::reference_wrapper<core::LogClock>> log_clocks_;
    core::Lifetime lifetime_;
};

}  // namespace beckon::fold
