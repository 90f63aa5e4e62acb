#pragma once

#include "console/pages/retry_api.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace beckon::console {

/// The last known attempts at one webhook.
struct AttemptSummary {
    std::uint64_t attempts = 0;   ///< at most retry::Dispatcher::kAttemptsKept
    std::uint64_t delivered = 0;  ///< of those
    /// The newest attempt; empty before the first one.
    std::string at;  ///< RFC 3339
    std::string outcome;
    std::int64_t status = 0;
    std::string why;
    std::string answer{};  ///< of one that was not accepted: the receiver's body, cut
    bool operator==(const AttemptSummary&) const = default;
};

/// How many dead letters there are.
struct DeadCounts {
    std::uint64_t letters = 0;
    std::uint64_t passed_over = 0;  ///< older ones, which are too many to be listed
    bool operator==(const DeadCounts&) const = default;
};

/// Asks every process with the role retry for the last attempts at the webhooks that it serves,
/// since nothing but those processes knows them, and one for the number of dead letters. A thread
/// of its own (`console-retry`).
class AttemptPoller {
public:
    static constexpr std::chrono::seconds kEvery{5};

    /// `api` outlives it; if it names no process, nothing is asked.
    explicit AttemptPoller(const RetryApi& api);
    ~AttemptPoller();
    AttemptPoller(const AttemptPoller&) = delete;
    AttemptPoller& operator=(const AttemptPoller&) = delete;

    /// nullopt: no process has reported it. Any thread.
    std::optional<AttemptSummary> of(const std::string& webhook) const;
    /// nullopt: no process says so at present. Any thread.
    std::optional<DeadCounts> dead_letters() const;

private:
    void run(const std::stop_token& stop);
    /// The attempts that one process reports; empty if the process does not answer.
    std::map<std::string, AttemptSummary> attempts_at(const std::string& origin) const;
    std::optional<DeadCounts> ask_dead_letters() const;

    const RetryApi& api_;
    mutable std::mutex mutex_;
    std::map<std::string, AttemptSummary> known_;  ///< under mutex_, as the next
    std::optional<DeadCounts> dead_letters_;
    std::jthread thread_;  ///< last: it uses the others
};

/// An answer to GET /attempts.
struct AttemptsPage {
    std::map<std::string, AttemptSummary> summaries;
    std::string next;  ///< for `after` of the next page; empty: that was all
};
/// Empty if it is none. Pure.
AttemptsPage parse_attempts(const std::string& json);
/// The counts in an operator's answer to GET /dead; nullopt if it has none. Pure.
std::optional<DeadCounts> parse_dead_counts(const std::string& json);

}  // namespace beckon::console
