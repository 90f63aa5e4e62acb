#pragma once

#include "core/clock.hpp"
#include "core/largest_holder.hpp"
#include "retry/attempt/attempt_outcome.hpp"

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// One attempt, for people who look for the cause of a failure.
struct Attempt {
    std::string delivery;
    std::uint32_t number = 0;
    core::Timestamp at{};
    core::Duration took{};
    Outcome outcome = Outcome::delivered;
    int status = 0;
    std::string why;
    std::string answer{};  ///< the first bytes of the receiver's body, unchecked
};

/// The attempts at one webhook in one hour of the host's clock.
struct AttemptHour {
    core::Timestamp begins{};
    std::uint32_t attempts = 0;
    std::uint32_t delivered = 0;  ///< of those
    bool operator==(const AttemptHour&) const = default;
};

/// The recent attempts at one webhook.
struct WebhookAttempts {
    std::vector<Attempt> last;       ///< the newest first
    std::vector<AttemptHour> hours;  ///< those in which there were attempts, the newest last
};

/// The recent attempts at one webhook in short.
struct AttemptSummary {
    std::size_t attempts = 0;
    std::size_t delivered = 0;  ///< of those
    std::optional<Attempt> last{};
};

/// The last attempts of each webhook, in memory, and how many there were in each hour of the last
/// day (while any of its attempts is kept). Above the limit of all bytes, the oldest of the owner
/// whose attempts take most is dropped. One thread.
class RecentAttempts {
public:
    struct Limits {
        std::size_t of_each = 100;                         ///< webhook
        std::size_t bytes = std::size_t{64} << 20;         ///< of all
        std::size_t why_bytes = kWhyBytesMax;              ///< longer reasons are cut
        std::size_t answer_bytes = HttpAnswer::kBodyKept;  ///< likewise
    };
    static constexpr std::size_t kHours = 24;
    /// Of an attempt, beside its reason and its answer.
    static constexpr std::size_t kEntryBytes = 256;

    RecentAttempts() : RecentAttempts(Limits{}) {}
    explicit RecentAttempts(Limits limits) : limits_(limits) {}

    void add(const std::string& owner, const std::string& webhook, Attempt attempt);
    /// The newest first.
    std::vector<Attempt> of(std::string_view webhook) const;
    /// Of the same; its cost does not follow from their number.
    AttemptSummary summary_of(std::string_view webhook) const;
    /// At most kHours, the newest last.
    std::vector<AttemptHour> hours_of(std::string_view webhook) const;
    std::size_t bytes() const { return holders_.total(); }

private:
    struct Entry {
        std::string owner;
        std::string webhook;
        Attempt attempt;
    };
    using Entries = std::list<Entry>;
    struct OfOne {
        std::deque<Entries::iterator> places;  ///< the oldest first
        std::size_t delivered = 0;
        std::deque<AttemptHour> hours;  ///< the newest last
    };
    static void count(std::deque<AttemptHour>& hours, const Attempt& attempt);
    void drop_oldest_of(const std::string& webhook);

    const Limits limits_;
    std::map<std::string, Entries> by_owner_;  ///< the oldest first
    std::map<std::string, OfOne, std::less<>> by_webhook_;
    core::LargestHolder<std::string> holders_;  ///< of bytes
};

}  // namespace beckon::retry
