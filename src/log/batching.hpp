#pragma once

#include <chrono>
#include <cstddef>

namespace beckon::log {

/// For waits of milliseconds within a process that runs.
using SteadyTime = std::chrono::steady_clock::time_point;

/// When the puts that wait (records that endpoints publish) become the next batch
/// (docs/decisions/0198-messages-are-batched-under-load.md): as soon as the stage behind has room,
/// which means that it has finished all batches but the last one, and after kWaitMax at the latest.
///
/// So a put waits only where it would wait in that stage too, and batches grow until each one pays
/// for its write, sync and commits. The rule knows no rates, and fits fast and slow machines. A
/// stage that needs longer than kWaitMax gets smaller batches: nothing is accepted much faster than
/// it is delivered. Not thread-safe.
class Batching {
public:
    static constexpr std::chrono::milliseconds kWaitMax{100};
    /// Bounds of records_max().
    static constexpr std::size_t kRecordsLeast = 256;
    static constexpr std::size_t kRecordsMost = 4'096;

    /// Whether the next batch begins now.
    bool closes(bool stage_has_room, SteadyTime now) const {
        return stage_has_room || now >= due();
    }
    /// When the next batch begins at the latest.
    SteadyTime due() const { return written_ + kWaitMax; }
    /// How many records it has at most.
    std::size_t records_max() const { return records_max_; }

    /// A batch begins, after closes() with this `stage_has_room`. `waited`: closes() had said no
    /// before.
    void begun(bool stage_has_room, bool waited, SteadyTime now);
    /// That batch is in the log.
    void written(SteadyTime now) { written_ = now; }

private:
    SteadyTime written_{};  ///< when the last batch was
    std::size_t records_max_ = kRecordsLeast;
};

}  // namespace beckon::log
