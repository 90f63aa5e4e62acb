#include "edge/home/delivery/pending_limit.hpp"

#include <algorithm>

namespace beckon::edge {

namespace {

/// A count of all that waits costs as many reads; spread over a tenth of the limit it is ten for
/// each message.
std::size_t step_of(std::size_t limit) { return std::max<std::size_t>(limit / 10, 1); }

}  // namespace

PendingLimit::PendingLimit(const PartContext& context, Delivery& delivery)
    : step_(step_of(context.options.max_pending)), context_(context), delivery_(delivery) {}

void PendingLimit::waits(const core::Uaid& client, core::Offset offset) {
    if (until_count_.size() >= kWatchedMax && !until_count_.contains(client)) until_count_.clear();
    const auto [at, is_new] = until_count_.try_emplace(client, 0);
    if (is_new) at->second = 1 + static_cast<std::size_t>(offset) % step_;
    if (--at->second > 0) return;
    at->second = step_;
    if (is_due_.insert(client).second) due_.push_back(client);
}

void PendingLimit::clear() {
    until_count_.clear();
    due_.clear();
    is_due_.clear();
    client_.reset();
    seen_.clear();
    dropping_.clear();
}

bool PendingLimit::turn() {
    if (!client_) {
        if (due_.empty()) return false;
        start_next();
    }
    dropping_.empty() ? check() : drop_some();
    return client_ || !due_.empty();
}

void PendingLimit::start_next() {
    client_ = due_.front();
    due_.pop_front();
    is_due_.erase(*client_);  // messages from here on are read again
    cursor_ = {.topics = true, .after = -1, .until = context_.position()};
    seen_.clear();
}

void PendingLimit::check() {
    const auto read = context_.store.read_pending(
        *client_, cursor_, kBudget, context_.log_now(), [this](const store::MessageView& message) {
            seen_.emplace_back(message.offset, message.key);
        });
    context_.store.expire(*client_, read.expired);
    const bool enough = seen_.size() >= context_.options.max_pending + kBeyondMax;
    if (read.done || enough) decide(read.done);
}

void PendingLimit::decide(bool all_seen) {
    const auto client = *client_;
    const auto most = context_.options.max_pending;
    if (seen_.size() <= most) {
        until_count_[client] = std::max(step_, most - seen_.size());
        client_.reset();
        return;
    }
    if (context_.options.max_pending_policy == "reset") {
        client_.reset();
        return context_.home.reset(client);
    }
    const auto excess = static_cast<std::ptrdiff_t>(seen_.size() - most);
    std::nth_element(seen_.begin(), seen_.begin() + excess - 1, seen_.end());
    seen_.resize(static_cast<std::size_t>(excess));
    dropping_ = std::exchange(seen_, {});
    if (!all_seen && is_due_.insert(client).second) due_.push_back(client);
}

void PendingLimit::drop_some() {
    for (std::size_t budget = kBudget; budget > 0 && !dropping_.empty(); --budget) {
        const auto key = dropping_.back().second;
        dropping_.pop_back();
        context_.store.add_tombstone(*client_, key, core::FinishReason::dropped);
        delivery_.finished(*client_, key, core::FinishReason::dropped);
    }
    if (dropping_.empty()) client_.reset();
}

}  // namespace beckon::edge
