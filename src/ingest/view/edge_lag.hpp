#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "fold/topic_state.hpp"
#include "log/event_log.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace beckon::ingest {

/// How far the edge that is furthest behind lags, by what edges say of themselves in `ownership`
/// (records/edge_lag.hpp), and what follows for a POST. Made, used and destroyed on the executor's
/// thread, but for verdict().
class EdgeLag {
public:
    /// `lag_max`: above it POSTs are delayed, for longer the longer it lasts and the more it is;
    /// from half of it on already where the lag rises fast. If it is twice that even with the
    /// longest delay, they are refused.
    EdgeLag(std::chrono::milliseconds lag_max, log::EventLog& log, core::Executor& executor,
            const core::Clock& clock);

    /// Edges that are behind; the lag of any beyond these is not seen.
    static constexpr std::size_t kEdgesMax = 1'000;
    /// The shortest delay of a POST, and the longest.
    static constexpr std::chrono::milliseconds kDelayLeast{1};
    static constexpr std::chrono::milliseconds kDelayMax{1'000};
    /// How often the delay changes, and by how much at most: its logarithm, by how far the lag is
    /// from `lag_max` and by how it changes. So the delay comes to stand where senders send just
    /// what the edges deliver, with a lag of about `lag_max`.
    static constexpr std::chrono::milliseconds kSteerEvery{100};
    static constexpr double kGain = 0.2;
    /// After so long without a delay the edges are said to keep up.
    static constexpr std::chrono::seconds kKeepsUpAfter{10};

    struct Verdict {
        bool refuse = false;
        std::chrono::microseconds delay{};
    };
    /// Of a POST that comes now. Any thread.
    Verdict verdict() const;
    /// The lag in force. Any thread.
    std::chrono::milliseconds lag() const { return std::chrono::milliseconds{lag_ms_.load()}; }

private:
    struct Said {
        std::chrono::milliseconds lag;
        core::MonoTime counts_until;
    };
    core::Duration age_of(const core::RecordView& record);
    void apply(const core::RecordView& record);
    void update();
    void watch();
    void steer();
    void log_changes();

    const std::chrono::milliseconds lag_max_;
    core::Executor& executor_;
    const core::Clock& clock_;
    std::map<std::string, Said> edges_;          ///< those that are behind
    core::Timestamp newest_{};                   ///< the append time of the newest record
    std::optional<core::MonoTime> newest_read_;  ///< when it was read
    std::atomic<std::chrono::milliseconds::rep> lag_ms_ = 0;
    std::atomic<std::chrono::microseconds::rep> delay_us_ = 0;
    std::chrono::milliseconds steered_by_{};  ///< the lag at the last change of the delay
    bool behind_ = false;                     ///< as the last line in the process's log says
    core::MonoTime delayed_at_{};
    core::Lifetime lifetime_;
    fold::TopicState state_;  ///< first to go: it calls us
};

}  // namespace beckon::ingest
