#pragma once

#include "core/clock.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"

#include <string>
#include <vector>

namespace beckon::fold {

/// Commits the position of a group to the log, for lag tools only: the state has its own positions.
/// At most every few seconds, and once a day where nothing moves, since Kafka forgets offsets that
/// are never renewed.
class OffsetReports {
public:
    static constexpr core::Duration kEvery = std::chrono::seconds{5};
    static constexpr core::Duration kRenewEvery = std::chrono::hours{24};

    /// An empty group: reports nothing. `every`: at most once in this time.
    OffsetReports(std::string group, log::EventLog& log, core::Executor& executor,
                  const core::Clock& clock, core::Duration every = kEvery)
        : group_(std::move(group)), every_(every), log_(log), clock_(clock), lifetime_(executor) {}

    void want(bool wanted) { wanted_ = wanted; }
    /// Call it regularly with where the group is.
    void update(const std::vector<log::GroupOffset>& offsets) {
        if (group_.empty() || !wanted_ || under_way_) return;
        const auto now = clock_.mono();
        const bool tried = tried_at_ != core::MonoTime{};
        if (tried && now - tried_at_ < every_) return;
        if (offsets == reported_ && now - reported_at_ < kRenewEvery) return;
        under_way_ = true;
        tried_at_ = now;
        core::ask_while(
            lifetime_,
            [&](core::Executor& executor, auto callback) {
                log_.commit(group_, offsets, executor, std::move(callback));
            },
            [this, offsets](const core::Result<void>& done) {
                under_way_ = false;
                if (!done) return;  // the next look tries again
                reported_ = offsets;
                reported_at_ = clock_.mono();
            });
    }

private:
    const std::string group_;
    const core::Duration every_;
    log::EventLog& log_;
    const core::Clock& clock_;

    bool wanted_ = true;
    bool under_way_ = false;
    std::vector<log::GroupOffset> reported_;
    core::MonoTime tried_at_{};
    core::MonoTime reported_at_{};

    core::Lifetime lifetime_;
};

}  // namespace beckon::fold
