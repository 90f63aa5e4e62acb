#pragma once

#include "console/overview/facts.hpp"
#include "console/pages/attempt_poller.hpp"
#include "core/key_ring.hpp"
#include "core/partition.hpp"
#include "fold/topic_state.hpp"
#include "retry/webhook/webhook.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace beckon::console {

/// Every webhook of the installation, for the console: a fold of `webhooks`. Secrets and the paths
/// of URLs, which may be secrets, do not leave it. The executor's thread.
class WebhookPage {
public:
    WebhookPage(core::Partition partitions, std::shared_ptr<const core::KeyRing> keys,
                log::EventLog& log, core::Executor& executor, const core::Clock& clock);

    /// {"webhooks": [{"id", "owner", "origin", "types", "filtered", "ordered", "description",
    /// "created", "enabled", "reason", "failing_since", "enabled_at", "attempts": {"count",
    /// "delivered", "at", "outcome", "status", "why"} or null}, …]}; empty: not read yet.
    std::string json(const AttemptPoller& attempts) const;
    /// nullopt: not read yet.
    std::optional<console::WebhookFacts> facts(const AttemptPoller& attempts) const;

private:
    void apply(const core::RecordView& record);
    void clear();

    retry::SecretBox box_;
    std::map<std::string, retry::Webhook> webhooks_;
    std::map<std::string, retry::WebhookState> states_;
    fold::TopicState state_;  ///< last: it calls us
};

}  // namespace beckon::console
