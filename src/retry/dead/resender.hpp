#pragma once

#include "core/executor.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "records/dead_letter.hpp"
#include "retry/dead/dead_index.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace beckon::retry {

/// Settles dead letters: sends them on their way again, or drops them. A redrive is in `retry.0`
/// durably before its letter is settled, so a crash leaves the letter there to be redriven once
/// more under the same id and hop, which the tier recognises. On the executor's thread.
class Resender {
public:
    struct Context {
        log::EventLog& log;
        log::Publisher& publisher;
        core::Executor& executor;
        DeadIndex& index;  ///< settled letters leave it at once
    };
    struct Outcome {
        std::size_t settled = 0;
        std::size_t gone = 0;    ///< fell off the log
        std::size_t failed = 0;  ///< the log did not take it; the letter is there still
    };
    using Done = std::function<void(Outcome)>;

    explicit Resender(Context context);
    ~Resender();
    Resender(const Resender&) = delete;
    Resender& operator=(const Resender&) = delete;

    void redrive(const std::vector<DeadLetter>& letters, Done done);
    void drop(const std::vector<DeadLetter>& letters, Done done);
    /// One letter with its event. Errors: not_found, and those of LetterReader.
    void read(const DeadLetter& letter, std::function<void(core::Result<Delivery>)> done);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
