#pragma once

#include "core/clock.hpp"
#include "core/result.hpp"
#include "records/broadcast.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace beckon::edge {

/// Asks a page for the versions of broadcasts, again and again while it is enabled. A thread of its
/// own, `edge-broadcasts`, since the look-up of a name and the answer may take seconds.
class BroadcastPoller {
public:
    struct Options {
        std::string url;
        core::Duration interval{};  ///< from the end of one poll to the next
    };
    /// Receives the result of a poll: the page's broadcasts, or an error. On the poller's thread.
    using Polled = std::function<void(core::Result<std::vector<BroadcastSet>>)>;

    BroadcastPoller(Options options, Polled polled);
    /// Ends a poll that is under way.
    ~BroadcastPoller() = default;

    /// Enables or disables polling; enabling polls at once. Any thread.
    void enable(bool enabled);

private:
    void run(const std::stop_token& stop);

    const Options options_;
    const Polled polled_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool enabled_ = false;  ///< under mutex_
    std::jthread thread_;   ///< ends first
};

}  // namespace beckon::edge
