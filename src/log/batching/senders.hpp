#pragma once

#include "log/batching/steady_time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace beckon::log {

class EventLog;

/// Who could still join a batch: the senders of a process that were active lately and do not wait
/// for the log now. Where all of them wait, nothing comes that a batch could wait for. Any thread.
class Senders {
public:
    /// A sender was active in one of the last two spans of this length.
    static constexpr std::chrono::milliseconds kSpan{32};
    /// Of more than so many senders some count as one.
    static constexpr std::size_t kSlots = 8'192;

    /// A message of this sender, such as its connection, is on its way to the log.
    void sent(const void* sender);
    /// And one was answered.
    void answered();
    /// Whether more than a quarter of the active senders do not wait: the last few of a batch are
    /// not waited for.
    bool others_could_join(SteadyTime now);

private:
    std::mutex mutex_;
    SteadyTime span_since_{};
    std::uint32_t span_ = 2;                    ///< so that 0 is none of the last two
    std::array<std::uint32_t, kSlots> last_{};  ///< the span in which each slot's sender sent
    std::size_t active_ = 0;                    ///< senders that sent in this span
    std::size_t before_ = 0;                    ///< in the one before, and not in this one
    std::size_t waiting_ = 0;
};

/// A log whose batches wait for senders.
class WaitsForSenders {
public:
    virtual ~WaitsForSenders() = default;
    /// The records that may wait in a batch are theirs, from now on. Any thread.
    virtual void records_come_from(std::shared_ptr<Senders> senders) = 0;
};
/// Tells the log, if it is one.
void records_come_from(EventLog& log, std::shared_ptr<Senders> senders);

}  // namespace beckon::log
