#include "console/pages/webhook_page.hpp"

#include "client/url.hpp"
#include "core/json_text.hpp"
#include "core/time_text.hpp"
#include "log/read_partition.hpp"

#include <nlohmann/json.hpp>

namespace beckon::console {

namespace {

using nlohmann::json;

constexpr std::string_view kState = "/state";

json time_or_null(const std::optional<core::Timestamp>& time) {
    return time ? json(time->time_since_epoch().count()) : json(nullptr);
}

json attempts_json(const std::optional<AttemptSummary>& known) {
    if (!known) return nullptr;
    return {{"count", known->attempts},  {"delivered", known->delivered}, {"at", known->at},
            {"outcome", known->outcome}, {"status", known->status},       {"why", known->why},
            {"answer", known->answer}};
}

json webhook_json(const retry::Webhook& webhook, const retry::WebhookState& state,
                  const std::optional<AttemptSummary>& attempts) {
    const auto url = client::parse_url(webhook.url);
    return {{"id", webhook.id},
            {"owner", webhook.owner},
            {"origin", url ? url->origin() : std::string{}},
            {"types", webhook.types},
            {"filtered", !webhook.filter.empty()},
            {"ordered", webhook.ordered},
            {"description", webhook.description},
            {"created", webhook.created.time_since_epoch().count()},
            {"enabled", state.enabled},
            {"reason", state.reason},
            {"failing_since", time_or_null(state.failing_since)},
            {"enabled_at", time_or_null(state.enabled_at)},
            {"attempts", attempts_json(attempts)}};
}

/// Whether the attempt was made before the webhook was enabled: it says nothing of the receiver.
bool is_before(const std::string& attempted, const retry::WebhookState& state) {
    return state.enabled_at && attempted < core::time_text(*state.enabled_at);
}

/// Why a webhook that is enabled fails; empty: it does not.
std::string failure_of(const retry::WebhookState& state,
                       const std::optional<AttemptSummary>& attempts) {
    const bool last_failed = attempts && !attempts->outcome.empty() &&
                             attempts->outcome != "delivered" && !is_before(attempts->at, state);
    if (!last_failed) return state.failing_since ? "its attempts fail" : "";
    if (attempts->outcome == "timed_out") return "it does not answer in time";
    if (!attempts->why.empty()) return attempts->why;
    return attempts->status > 0 ? "it answers " + std::to_string(attempts->status)
                                : attempts->outcome;
}

}  // namespace

WebhookPage::WebhookPage(core::Partition partitions, std::shared_ptr<const core::KeyRing> keys,
                         log::EventLog& log, core::Executor& executor, const core::Clock& clock)
    : box_(std::move(keys)),
      state_({.folder = "console",
              .inputs = log::all_of(log::Topic::kWebhooks, partitions),
              .proof = fold::Proof::end},
             {.log = log, .executor = executor, .clock = clock},
             {.apply = [this](const auto&, const auto& record) { apply(record); },
              .cleared = [this] { clear(); }}) {
    state_.start();
}

void WebhookPage::clear() {
    webhooks_.clear();
    states_.clear();
}

void WebhookPage::apply(const core::RecordView& record) {
    std::string id{record.key};
    if (id.empty() || id.starts_with('!')) return;  // read barriers and leases
    if (id.ends_with(kState)) {
        id.resize(id.size() - kState.size());
        const auto state = record.value ? retry::decode_webhook_state(record)
                                        : core::Result<retry::WebhookState>{retry::WebhookState{}};
        if (state) states_[id] = *state;
        return;
    }
    if (!record.value) {
        webhooks_.erase(id);
        states_.erase(id);
        return;
    }
    if (auto webhook = retry::decode_webhook(record, box_)) webhooks_[id] = std::move(*webhook);
}

std::optional<console::WebhookFacts> WebhookPage::facts(const AttemptPoller& attempts) const {
    if (!state_.current()) return std::nullopt;
    console::WebhookFacts out{.total = webhooks_.size()};
    for (const auto& [id, webhook] : webhooks_) {
        const auto known = states_.find(id);
        const auto state = known == states_.end() ? retry::WebhookState{} : known->second;
        if (!state.enabled) {
            if (retry::is_disabled_by_failure(state)) ++out.disabled;
            continue;
        }
        auto why = failure_of(state, attempts.of(id));
        if (why.empty()) continue;
        const auto url = client::parse_url(webhook.url);
        out.failing.push_back(
            {.id = id,
             .origin = url ? url->origin() : std::string{},
             .why = std::move(why),
             .owner = webhook.owner,
             .since = state.failing_since ? core::time_text(*state.failing_since) : std::string{}});
    }
    return out;
}

std::string WebhookPage::json(const AttemptPoller& attempts) const {
    if (!state_.current()) return {};
    auto reported = nlohmann::json::array();
    for (const auto& [id, webhook] : webhooks_) {
        const auto state = states_.find(id);
        reported.push_back(
            webhook_json(webhook, state == states_.end() ? retry::WebhookState{} : state->second,
                         attempts.of(id)));
    }
    return core::json_text(nlohmann::json{{"webhooks", std::move(reported)}});
}

}  // namespace beckon::console
