#include "fold/offset_reports.hpp"

#include "core/lifetime.hpp"

#include <utility>

namespace beckon::fold {

void OffsetReports::update(const std::vector<log::GroupOffset>& offsets) {
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

}  // namespace beckon::fold
