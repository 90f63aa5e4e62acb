#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "fold/topic_state.hpp"
#include "log/event_log.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace beckon::fold {

/// The owners whose webhooks subscribe to one of Beckon's own events: a fold of `webhooks` in
/// memory, so that no role writes events that no webhook would get. It holds an id and a name for
/// each webhook that wants the type, of those owners that a VAPID key names; others never get such
/// an event. Made, used and destroyed on the executor's thread, but for may_want().
class WebhookOwners {
public:
    struct Options {
        std::string type;  ///< of the event
        core::Partition partitions = 1;
        core::NodeId node;
        std::string_view folder = "fold";  ///< that log lines name
    };
    struct Context {
        log::EventLog& log;
        core::Executor& executor;
        const core::Clock& clock;
    };
    WebhookOwners(Options options, Context context);

    /// Whether the owner has a webhook for the type. Also true before all webhooks are read: until
    /// then there may be one. Any thread.
    bool may_want(std::string_view owner) const;
    /// Webhooks that want the type. Any thread.
    std::size_t size() const;

private:
    void apply(const core::RecordView& record);
    void clear();
    void complete();
    void forget(std::string_view webhook);

    const Options options_;
    mutable std::mutex mutex_;
    bool complete_ = false;                                     ///< under mutex_
    std::map<std::string, std::string, std::less<>> webhooks_;  ///< under mutex_: id to owner
    std::map<std::string, std::size_t, std::less<>> owners_;    ///< under mutex_: how many
    const std::unique_ptr<log::Publisher> publisher_;
    TopicState state_;  ///< first to go: it calls us
};

}  // namespace beckon::fold
