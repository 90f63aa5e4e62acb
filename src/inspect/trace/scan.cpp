#include "inspect/trace/scan.hpp"

namespace beckon::inspect {

core::Result<void> scan(log::EventLog& log, log::TopicPartition where, core::Offset from,
                        const log::ScanSink& sink, const ScanLimits& limits) {
    bool given_up = false;
    const auto until_given_up = [&](const core::RecordView& record) {
        given_up = limits.given_up && limits.given_up();
        return given_up ? log::Next::stop : sink(record);
    };
    const auto read = log::read_range(log, where, {from}, until_given_up, limits.timeout);
    if (!read) return core::fail(read.error());
    if (!given_up) return {};
    return core::fail(core::Fault::timed_out,
                      "the log topic " + where.topic.name() + " was not read to its end in time");
}

}  // namespace beckon::inspect
