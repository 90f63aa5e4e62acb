#pragma once

#include "core/executor.hpp"
#include "core/ids.hpp"
#include "fold/marker.hpp"
#include "log/event_log.hpp"
#include "retry/webhook/directory.hpp"

#include <functional>
#include <memory>

namespace beckon::retry {

/// Folds all of `webhooks` into a directory, on every node: an event may be for any webhook. On the
/// executor's thread.
class WebhookView {
public:
    WebhookView(core::Partition partitions, core::NodeId node, WebhookDirectory& directory,
                log::EventLog& log, log::Publisher& publisher, core::Executor& executor,
                const core::Clock& clock, std::function<void()> caught_up);
    ~WebhookView();
    WebhookView(const WebhookView&) = delete;
    WebhookView& operator=(const WebhookView&) = delete;

    void start();
    bool caught_up() const;
    /// Answers once everything that stood in the partition of this webhook has been folded.
    void confirm(std::string_view webhook, fold::Marker::Answer answer);

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace beckon::retry
