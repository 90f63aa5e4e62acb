#pragma once

#include "core/clock.hpp"
#include "retry/attempt/attempt_outcome.hpp"

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// One attempt, for people who look into what happened.
struct Attempt {
    std::string delivery;
    std::uint32_t number = 0;
    core::Timestamp at{};
    core::Duration took{};
    Outcome outcome = Outcome::delivered;
    int status = 0;
    std::string why;
};

/// The last attempts of each webhook, in memory. Where those of all webhooks are too many, the
/// oldest of all go first. One thread.
class RecentAttempts {
public:
    struct Limits {
        std::size_t of_each = 100;     ///< webhook
        std::size_t of_all = 100'000;  ///< some 30 MiB
        std::size_t why_bytes = 256;   ///< longer reasons are cut
    };
    RecentAttempts() : RecentAttempts(Limits{}) {}
    explicit RecentAttempts(Limits limits) : limits_(limits) {}

    void add(const std::string& webhook, Attempt attempt);
    /// The newest first.
    std::vector<Attempt> of(std::string_view webhook) const;
    std::size_t size() const { return all_.size(); }

private:
    struct Entry {
        std::string webhook;
        Attempt attempt;
    };
    using Place = std::list<Entry>::iterator;
    void drop_oldest_of(const std::string& webhook);

    const Limits limits_;
    std::list<Entry> all_;                                              ///< the oldest first
    std::map<std::string, std::deque<Place>, std::less<>> by_webhook_;  ///< the oldest first
};

}  // namespace beckon::retry
