#pragma once

#include "core/executor.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "records/delivery.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace beckon::retry {

/// Reads some records of one partition of `retry.dead` again, with their events. On the executor's
/// thread; ends when destroyed.
class LetterReader {
public:
    /// Above so many bytes of events the rest is left for another time.
    static constexpr std::size_t kBytesMax = 4 << 20;
    /// The longest wait for the log.
    static constexpr core::Duration kTimeout = std::chrono::seconds{10};

    struct Letter {
        core::Offset offset = 0;
        core::Timestamp died{};
        Delivery delivery;
    };
    struct Found {
        std::vector<Letter> letters;
        core::Offset read_up_to = 0;  ///< letters below it that are not among them are gone
    };
    /// Errors: unavailable, timed_out, corrupt, out_of_range.
    using Done = std::function<void(core::Result<Found>)>;

    /// `offsets` ascend; there is at least one.
    LetterReader(core::Partition partition, std::vector<core::Offset> offsets, log::EventLog& log,
                 core::Executor& executor, Done done);
    ~LetterReader();
    LetterReader(const LetterReader&) = delete;
    LetterReader& operator=(const LetterReader&) = delete;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
