#include "retry/dispatch/recent_attempts.hpp"

#include <utility>

namespace beckon::retry {

void RecentAttempts::add(const std::string& webhook, Attempt attempt) {
    if (attempt.why.size() > limits_.why_bytes) attempt.why.resize(limits_.why_bytes);
    auto& places = by_webhook_[webhook];
    places.push_back(all_.insert(all_.end(), {webhook, std::move(attempt)}));
    if (places.size() > limits_.of_each) drop_oldest_of(webhook);
    if (all_.size() > limits_.of_all) drop_oldest_of(std::string{all_.front().webhook});
}

void RecentAttempts::drop_oldest_of(const std::string& webhook) {
    const auto found = by_webhook_.find(webhook);
    all_.erase(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) by_webhook_.erase(found);
}

std::vector<Attempt> RecentAttempts::of(std::string_view webhook) const {
    std::vector<Attempt> attempts;
    const auto found = by_webhook_.find(webhook);
    if (found == by_webhook_.end()) return attempts;
    for (auto place = found->second.rbegin(); place != found->second.rend(); ++place) {
        attempts.push_back((*place)->attempt);
    }
    return attempts;
}

}  // namespace beckon::retry
