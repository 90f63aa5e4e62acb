#include "fold/log_clock_publisher.hpp"

#include <utility>

namespace beckon::fold {

void LogClockPublisher::publish(log::TopicPartition where, core::Record record,
                                log::AppendDone done) {
    const auto known = log_clocks_.find(where);
    if (known == log_clocks_.end()) {
        inner_.publish(where, std::move(record), std::move(done));
        return;
    }
    inner_.publish(where, std::move(record),
                   [term = lifetime_.term(), &log_clock = known->second.get(), sent = clock_.mono(),
                    done = std::move(done)](const core::Result<log::Appended>& at) {
                       if (at && !term.over()) log_clock.reported(at->time, at->offset, sent);
                       done(at);
                   });
}

}  // namespace beckon::fold
