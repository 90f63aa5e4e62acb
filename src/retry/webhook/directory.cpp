#include "retry/webhook/directory.hpp"

#include "core/codec.hpp"
#include "core/logger.hpp"
#include "retry/webhook/request_builder.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

namespace {

constexpr std::string_view kStateTail = "/state";

}  // namespace

void WebhookDirectory::apply(const core::RecordView& record) {
    if (core::is_control_key(record.key)) return;
    const auto refuse = [&](const core::Error& why) {
        ++broken_;
        core::log_error("retry", "broken_webhook",
                        {{"offset", record.offset}, {"why", why.message}});
    };
    if (record.key.ends_with(kStateTail)) {
        const std::string id{record.key.substr(0, record.key.size() - kStateTail.size())};
        if (!record.value) return put_state(id, {});
        auto state = decode_webhook_state(record);
        return state ? put_state(id, std::move(*state)) : refuse(state.error());
    }
    if (!record.value) return erase(std::string{record.key});
    auto webhook = decode_webhook(record, box_);
    return webhook ? put(std::move(*webhook)) : refuse(webhook.error());
}

void WebhookDirectory::clear() {
    while (!entries_.empty()) erase(entries_.begin()->first);
    states_.clear();
}

void WebhookDirectory::put(Webhook webhook) {
    auto id = webhook.id;
    if (const auto* before = find(id)) --owners_[before->webhook.owner];
    ++owners_[webhook.owner];
    auto host = host_of(webhook.url);
    entries_[id] = Entry{std::move(webhook), states_[id], std::move(host)};
    index(id);
}

void WebhookDirectory::erase(const std::string& id) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    const auto owner = owners_.find(found->second.webhook.owner);
    if (--owner->second == 0) owners_.erase(owner);
    percolator_.remove(id);
    states_.erase(id);
    entries_.erase(found);
}

void WebhookDirectory::put_state(const std::string& id, WebhookState state) {
    const auto found = entries_.find(id);
    if (found != entries_.end()) {
        found->second.state = state;
        index(id);
    }
    states_[id] = std::move(state);
}

/// What is disabled is not spread to.
void WebhookDirectory::index(const std::string& id) {
    const auto& entry = entries_.at(id);
    percolator_.remove(id);
    if (!entry.state.enabled) return;
    Percolator::Entry one{.id = id, .types = entry.webhook.types, .query = std::nullopt};
    if (!entry.webhook.filter.empty()) {
        auto query = Query::compile(std::string_view{entry.webhook.filter});
        if (!query) {  // an older build accepted it
            core::log_error("retry", "broken_filter", {{"webhook", id}});
            return;
        }
        one.query = std::move(*query);
    }
    percolator_.put(std::move(one));
}

const WebhookDirectory::Entry* WebhookDirectory::find(std::string_view id) const {
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : &found->second;
}

std::vector<const WebhookDirectory::Entry*> WebhookDirectory::of_owner(
    std::string_view owner) const {
    std::vector<const Entry*> out;
    for (const auto& [id, entry] : entries_) {
        if (entry.webhook.owner == owner) out.push_back(&entry);
    }
    return out;
}

std::size_t WebhookDirectory::count_of(std::string_view owner) const {
    const auto found = owners_.find(owner);
    return found == owners_.end() ? 0 : found->second;
}

std::vector<std::string> WebhookDirectory::match(const nlohmann::json& event) const {
    auto found = percolator_.match(event);
    const auto named = event.find("beckonowner");
    if (named == event.end()) return found;
    const auto* owner = named->get_ptr<const std::string*>();
    std::erase_if(found,
                  [&](const auto& id) { return !owner || find(id)->webhook.owner != *owner; });
    return found;
}

}  // namespace beckon::retry
