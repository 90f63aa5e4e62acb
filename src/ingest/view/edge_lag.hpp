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
#include <vector>

namespace beckon::ingest {

/// The partitions that edges name in `ownership` because they are far behind the log there
/// (records/edge_lag.hpp). An endpoint takes no message for them: it would be delivered late
/// (docs/decisions/0198-messages-are-batched-under-load.md). Made, used and destroyed on the
/// executor's thread, but for is_behind().
class EdgeLag {
public:
    EdgeLag(core::Partition partitions, log::EventLog& log, core::Executor& executor,
            const core::Clock& clock);

    /// Edges that are behind; any beyond these are not seen.
    static constexpr std::size_t kEdgesMax = 1'000;
    /// After so long without an edge that is behind, the edges are said to keep up.
    static constexpr std::chrono::seconds kKeepsUpAfter{10};

    /// Any thread.
    bool is_behind(core::Partition partition) const;

private:
    struct Said {
        std::chrono::milliseconds lag{};
        std::vector<core::Partition> partitions;
        core::MonoTime counts_until;
    };
    core::Duration age_of(const core::RecordView& record);
    void apply(const core::RecordView& record);
    void forget_all();
    void count(const Said& said, core::MonoTime until);
    void watch();
    void log_changes();

    core::Executor& executor_;
    const core::Clock& clock_;
    std::map<std::string, Said> edges_;          ///< those that are behind
    core::Timestamp newest_{};                   ///< the append time of the newest record
    std::optional<core::MonoTime> newest_read_;  ///< when it was read
    /// Until when each partition's edge counts as behind, by the clock's mono().
    std::vector<std::atomic<core::Duration::rep>> behind_until_;
    bool behind_ = false;  ///< as the last line in the process's log says
    core::MonoTime behind_at_{};
    core::Lifetime lifetime_;
    fold::TopicState state_;  ///< first to go: it calls us
};

}  // namespace beckon::ingest
