#pragma once

#include "core/clock.hpp"
#include "core/result.hpp"
#include "records/broadcast.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace beckon::edge {

/// The page with the versions of broadcasts (docs/protocol/client-protocol.md#broadcasts):
/// `{"broadcasts": {id: version}}`. Any thread. Errors: invalid (naming the fault); a page with one
/// fault counts in no part.
core::Result<std::vector<BroadcastSet>> parse_broadcasts(std::string_view body);

/// GET of a page over http or https, redirects followed. Blocks for some seconds at most, and no
/// longer than until `stop`. Errors: unavailable (no answer, or none with 2xx), too_large.
core::Result<std::string> fetch_page(const std::string& url, const std::stop_token& stop);

/// Asks a page for the versions of broadcasts, again and again while it is enabled. A thread of its
/// own, `edge-broadcasts`, since the look-up of a name and the answer may take seconds.
class BroadcastPoller {
public:
    /// Receives the result of a poll: the page's broadcasts, or an error. On the poller's thread.
    using Polled = std::function<void(core::Result<std::vector<BroadcastSet>>)>;

    /// `interval`: from the end of one poll to the next.
    BroadcastPoller(std::string url, core::Duration interval, Polled polled);
    /// Ends a poll that is under way.
    ~BroadcastPoller() = default;

    /// Enables or disables polling; enabling polls at once. Any thread.
    void enable(bool enabled);

private:
    void run(const std::stop_token& stop);

    const std::string url_;  ///< http or https
    const core::Duration interval_;
    const Polled polled_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool enabled_ = false;  ///< under mutex_
    std::jthread thread_;   ///< ends first
};

}  // namespace beckon::edge
