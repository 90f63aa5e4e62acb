#include "retry/event/disabled_event.hpp"

#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace beckon::retry {

Event disabled_event(const Webhook& webhook, const WebhookState& state, const core::NodeId& node) {
    const auto& id = webhook.id;
    const nlohmann::json event{{"specversion", "1.0"},
                               {"id", core::to_hex(core::random_uuid4())},
                               {"source", "/beckon/retry/" + node.text},
                               {"type", "beckon.webhook.disabled"},
                               {"subject", id},
                               {kOwnerAttribute, webhook.owner},
                               {"data", {{"webhook", id}, {"reason", state.reason}}}};
    return {.source = event["source"],
            .id = event["id"],
            .type = event["type"],
            .json = core::json_text(event),
            .owner = webhook.owner};
}

}  // namespace beckon::retry
