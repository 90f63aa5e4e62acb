#include "retry/home/recent_attempts.hpp"

#include <chrono>

namespace beckon::retry {

namespace {

std::size_t bytes_of(const Attempt& attempt) {
    return RecentAttempts::kEntryBytes + attempt.why.size() + attempt.answer.size();
}

}  // namespace

void RecentAttempts::add(const std::string& owner, const std::string& webhook, Attempt attempt) {
    if (attempt.why.size() > limits_.why_bytes) attempt.why.resize(limits_.why_bytes);
    if (attempt.answer.size() > limits_.answer_bytes) attempt.answer.resize(limits_.answer_bytes);
    auto& entries = by_owner_[owner];
    auto& one = by_webhook_[webhook];
    count(one.hours, attempt);
    if (attempt.outcome == Outcome::delivered) ++one.delivered;
    holders_.add(owner, bytes_of(attempt));
    one.places.push_back(entries.insert(entries.end(), {owner, webhook, std::move(attempt)}));
    if (one.places.size() > limits_.of_each) drop_oldest_of(webhook);
    while (holders_.total() > limits_.bytes) {
        drop_oldest_of(std::string{by_owner_.at(holders_.largest()).front().webhook});
    }
}

/// A clock that steps back adds to the newest hour.
void RecentAttempts::count(std::deque<AttemptHour>& hours, const Attempt& attempt) {
    const core::Timestamp begins{
        std::chrono::floor<std::chrono::hours>(attempt.at.time_since_epoch())};
    if (hours.empty() || hours.back().begins < begins) hours.push_back({.begins = begins});
    ++hours.back().attempts;
    if (attempt.outcome == Outcome::delivered) ++hours.back().delivered;
    const auto oldest = hours.back().begins - std::chrono::hours{kHours - 1};
    while (hours.front().begins < oldest) hours.pop_front();
}

void RecentAttempts::drop_oldest_of(const std::string& webhook) {
    const auto found = by_webhook_.find(webhook);
    auto& one = found->second;
    const auto place = one.places.front();
    const auto owner = place->owner;
    if (place->attempt.outcome == Outcome::delivered) --one.delivered;
    one.places.pop_front();
    if (one.places.empty()) by_webhook_.erase(found);
    holders_.remove(owner, bytes_of(place->attempt));
    auto& entries = by_owner_.at(owner);
    entries.erase(place);
    if (entries.empty()) by_owner_.erase(owner);
}

std::vector<Attempt> RecentAttempts::of(std::string_view webhook) const {
    std::vector<Attempt> attempts;
    const auto found = by_webhook_.find(webhook);
    if (found == by_webhook_.end()) return attempts;
    const auto& places = found->second.places;
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
        attempts.push_back((*place)->attempt);
    }
    return attempts;
}

AttemptSummary RecentAttempts::summary_of(std::string_view webhook) const {
    const auto found = by_webhook_.find(webhook);
    if (found == by_webhook_.end()) return {};
    const auto& one = found->second;
    return {.attempts = one.places.size(),
            .delivered = one.delivered,
            .last = one.places.back()->attempt};
}

std::vector<AttemptHour> RecentAttempts::hours_of(std::string_view webhook) const {
    const auto found = by_webhook_.find(webhook);
    if (found == by_webhook_.end()) return {};
    return {found->second.hours.begin(), found->second.hours.end()};
}

}  // namespace beckon::retry
