#pragma once

#include "core/key_ring.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace beckon::console {

/// The last known attempts at one webhook.
struct AttemptSummary {
    std::uint64_t attempts = 0;   ///< at most retry::Dispatcher::kAttemptsKept
    std::uint64_t delivered = 0;  ///< of those
    /// The newest, none yet: empty.
    std::string at;  ///< RFC 3339
    std::string outcome;
    std::int64_t status = 0;
    std::string why;
    std::string answer{};  ///< of one that was not accepted: the receiver's body, cut
    bool operator==(const AttemptSummary&) const = default;
};

/// Asks every process with the role retry for the last attempts at the webhooks that it serves,
/// since nothing but those processes knows them. A thread of its own (`console-retry`).
class AttemptPoller {
public:
    static constexpr std::chrono::seconds kEvery{5};

    struct Options {
        std::vector<std::string> origins;  ///< of their APIs; none: nothing is asked
        bool insecure = false;             ///< takes any certificate: that of this process
    };
    AttemptPoller(Options options, std::shared_ptr<const core::KeyRing> keys);
    ~AttemptPoller();
    AttemptPoller(const AttemptPoller&) = delete;
    AttemptPoller& operator=(const AttemptPoller&) = delete;

    /// Whose webhooks there are: each process is asked with a token of each. Any thread.
    void use_owners(std::set<std::string> owners);
    /// nullopt: no process has reported it. Any thread.
    std::optional<AttemptSummary> of(const std::string& webhook) const;

private:
    void run(const std::stop_token& stop);
    /// The attempts that one process reports to one owner; empty if the process does not answer.
    std::map<std::string, AttemptSummary> ask(const std::string& origin,
                                              const std::string& owner) const;

    const Options options_;
    const std::shared_ptr<const core::KeyRing> keys_;
    mutable std::mutex mutex_;
    std::set<std::string> owners_;  ///< under mutex_, as the next
    std::map<std::string, AttemptSummary> known_;
    std::jthread thread_;  ///< last: it uses the others
};

/// The summaries in an answer to GET /attempts; empty if it is none. Pure.
std::map<std::string, AttemptSummary> parse_attempts(const std::string& json);

}  // namespace beckon::console
