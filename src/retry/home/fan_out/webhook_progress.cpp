#include "retry/home/fan_out/webhook_progress.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace beckon::retry {

WebhookProgress::WebhookProgress(core::Partition partitions, core::Executor& executor,
                                 Events events)
    : events_(std::move(events)),
      next_(static_cast<std::size_t>(partitions)),
      catch_up_(executor, [this] { catch_up(); }),
      lifetime_(executor) {}

void WebhookProgress::has_read(core::Partition partition, core::Offset next) {
    auto& here = next_[static_cast<std::size_t>(partition)];
    here = std::max(here, next);
    const auto found = missing_.find(partition);
    if (found == missing_.end() || here < found->second) return;
    missing_.erase(found);
    if (missing_.empty()) events_.has_all();
}

void WebhookProgress::clear() { next_.assign(next_.size(), 0); }

/// A partition that this installation does not have is never read, and not waited for.
bool WebhookProgress::has(const WebhooksChanged& changed) {
    bool all = true;
    for (const auto& [partition, below] : changed.below) {
        const auto at = static_cast<std::size_t>(partition);
        if (at >= next_.size() || next_[at] >= below) continue;
        all = false;
        auto& missing = missing_[partition];
        missing = std::max(missing, below);
    }
    if (!all) catch_up_.ask(kCatchUpEvery);
    return all;
}

/// Compaction may have removed the record that is waited for: a read barrier then proves that
/// nothing is missing.
void WebhookProgress::catch_up() {
    for (const auto& [partition, below] : missing_) {
        events_.catch_up(partition, lifetime_.guard([this, partition, below](bool all_read) {
            if (all_read) has_read(partition, below);
        }));
    }
    if (!missing_.empty()) catch_up_.ask(kCatchUpEvery);
}

}  // namespace beckon::retry
