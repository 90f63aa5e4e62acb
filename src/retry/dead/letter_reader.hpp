#pragma once

#include "core/executor.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "log/range_scan.hpp"
#include "records/delivery.hpp"

#include <functional>
#include <vector>

namespace beckon::retry {

/// Reads some records of one partition of `retry.dead` again, with their events. On the executor's
/// thread; ends when destroyed.
class LetterReader {
public:
    /// Above so many bytes of events the rest is left for another time.
    static constexpr std::size_t kBytesMax = 4 << 20;

    struct Letter {
        core::Offset offset = 0;
        core::Timestamp died{};
        Delivery delivery;
    };
    struct Found {
        std::vector<Letter> letters;
        core::Offset read_up_to = 0;  ///< letters below it that are not among them are gone
    };
    /// Errors: as log::RangeScan.
    using Done = std::function<void(core::Result<Found>)>;

    /// `offsets` ascend; there is at least one.
    LetterReader(core::Partition partition, std::vector<core::Offset> offsets, log::EventLog& log,
                 core::Executor& executor, Done done);

private:
    log::Next keep(const core::RecordView& record);
    void end(const core::Result<core::Offset>& read_up_to);

    const std::vector<core::Offset> offsets_;
    Done done_;
    Found found_;
    std::size_t bytes_ = 0;
    log::RangeScan scan_;
};

}  // namespace beckon::retry
