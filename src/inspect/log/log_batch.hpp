#pragma once

#include "core/record.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"

#include <cstddef>
#include <string>
#include <vector>

/// Records of one partition on their way from a running process to a tool. Numbers are big-endian:
///
///   batch   form 1 ‖ drained 1 ‖ next 8 ‖ records
///   record  offset 8 ‖ append time 8 (ms since the epoch) ‖ size 4 ‖ body
///
/// `next` is the offset that the next record will have at least, `drained`: there were no more
/// records. The body is as the embedded log writes it (log/embedded/record_format.hpp).
namespace beckon::inspect {

/// Collects a batch.
class LogBatchWriter {
public:
    LogBatchWriter();
    void add(const core::RecordView& record);
    std::size_t bytes() const { return bytes_.size(); }
    std::string finish(core::Offset next, bool drained);

private:
    std::string bytes_;
};

/// Takes a batch apart.
class LogBatchReader {
public:
    /// Errors: corrupt (of another form, or too short).
    static core::Result<LogBatchReader> open(std::string bytes);

    bool at_end() const { return at_ == bytes_.size(); }
    /// Passes on the next record; not at the end. Errors: corrupt.
    core::Result<void> take(const log::RecordSink& sink);
    core::Offset next() const { return next_; }
    bool drained() const { return drained_; }

private:
    std::string bytes_;
    std::size_t at_ = 0;
    core::Offset next_ = 0;
    bool drained_ = false;
    std::vector<core::HeaderView> headers_;
};

}  // namespace beckon::inspect
