#include "retry/webhook/directory.hpp"

#include "core/logger.hpp"
#include "records/events.hpp"
#include "retry/webhook/request_builder.hpp"

#include <utility>

namespace beckon::retry {

namespace {

constexpr std::string_view kStateTail = "/state";
constexpr std::string_view kFilterTail = "/filter";

/// The webhook's id in the key of a record about it; nullopt: it is another kind of key.
std::optional<std::string> id_before(std::string_view tail, std::string_view key) {
    if (!key.ends_with(tail)) return std::nullopt;
    return std::string{key.substr(0, key.size() - tail.size())};
}

}  // namespace

void WebhookDirectory::apply(const core::RecordView& record) {
    if (core::is_control_key(record.key)) return;
    if (const auto id = id_before(kStateTail, record.key)) {
        return put_beside(*id, &Beside::state, record, decode_webhook_state(record));
    }
    if (const auto id = id_before(kFilterTail, record.key)) {
        return put_beside(*id, &Beside::costly, record, decode_costly_filter(record));
    }
    if (!record.value) return erase(std::string{record.key});
    auto webhook = decode_webhook(record, box_);
    webhook ? put(std::move(*webhook)) : refuse(record, webhook.error());
}

void WebhookDirectory::refuse(const core::RecordView& record, const core::Error& why) {
    ++broken_;
    core::log_sparsely(core::LogLevel::error, "retry", "broken_webhook",
                       {{"offset", record.offset}, {"why", why.message}});
}

template <class T>
void WebhookDirectory::put_beside(const std::string& id, std::optional<T> Beside::*member,
                                  const core::RecordView& record, core::Result<T> value) {
    if (record.value && !value) return refuse(record, value.error());
    auto& beside = beside_[id];
    beside.*member = record.value ? std::optional{std::move(*value)} : std::nullopt;
    if (!beside.state && !beside.costly) beside_.erase(id);
    refresh(id);
}

void WebhookDirectory::clear() {
    while (!entries_.empty()) erase(std::string{entries_.begin()->first});
    beside_.clear();
    without_webhook_.clear();
}

void WebhookDirectory::put(Webhook webhook) {
    const auto id = webhook.id;
    if (const auto* before = find(id)) no_longer_counted(*before);
    auto& entry = entries_[id];
    entry.host = host_of(webhook.url);
    entry.webhook = std::move(webhook);
    entry.webhook.filter.shrink_to_fit();  // as memory_of() counts it
    entry.filter_digest = filter_digest(entry.webhook.filter);
    entry.memory_bytes = index(entry);
    if (filters_ == Filters::compiled) entry.webhook.filter = {};
    auto& owner = owners_[entry.webhook.owner];
    owner.usage += {.webhooks = 1, .bytes = entry.memory_bytes};
    owner.webhooks.emplace(entries_.find(id)->first, &entry);
    memory_bytes_ += entry.memory_bytes;
    refresh(id);
}

void WebhookDirectory::erase(const std::string& id) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    no_longer_counted(found->second);
    if (is_disabled_by_failure(found->second.state)) --disabled_;
    percolator_.remove(id);
    entries_.erase(found);
    refresh(id);
}

void WebhookDirectory::no_longer_counted(const Entry& entry) {
    const auto owner = owners_.find(entry.webhook.owner);
    owner->second.usage -= {.webhooks = 1, .bytes = entry.memory_bytes};
    owner->second.webhooks.erase(entry.webhook.id);
    memory_bytes_ -= entry.memory_bytes;
    if (owner->second.webhooks.empty()) owners_.erase(owner);
}

/// Shows in a webhook what the records beside it say, or notes that there is no such webhook.
void WebhookDirectory::refresh(const std::string& id) {
    const auto at = beside_.find(id);
    const auto found = entries_.find(id);
    if (found == entries_.end()) {
        if (at != beside_.end()) without_webhook_.insert(id);
        if (at == beside_.end()) without_webhook_.erase(id);
        return;
    }
    without_webhook_.erase(id);
    auto& entry = found->second;
    const auto beside = at == beside_.end() ? Beside{} : at->second;
    if (is_disabled_by_failure(entry.state)) --disabled_;
    entry.state = beside.state.value_or(WebhookState{});
    if (is_disabled_by_failure(entry.state)) ++disabled_;
    percolator_.enable(id, entry.state.enabled);  // events are not fanned out to a disabled one
    // A report about a former filter of the webhook does not count.
    const bool of_filter = beside.costly && beside.costly->filter == entry.filter_digest;
    entry.costly = of_filter ? beside.costly : std::nullopt;
}

/// Puts a webhook into the index, and returns its bytes.
std::size_t WebhookDirectory::index(const Entry& entry) {
    const auto& webhook = entry.webhook;
    auto one = filter_entry(webhook, Query::From::log);
    if (!one) {
        core::log_error("retry", "broken_filter",
                        {{"webhook", webhook.id}, {"why", one.error().message}});
        percolator_.remove(webhook.id);
        return memory_of(webhook, {});
    }
    const auto bytes = memory_of(webhook, *one);
    percolator_.put(std::move(*one));
    return bytes;
}

const WebhookDirectory::Entry* WebhookDirectory::find(std::string_view id) const {
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : &found->second;
}

void WebhookDirectory::each(std::string_view after, const Visit& visit) const {
    auto at = entries_.upper_bound(after);
    while (at != entries_.end() && visit(at->second)) ++at;
}

void WebhookDirectory::each_of(std::string_view owner, std::string_view after,
                               const Visit& visit) const {
    const auto found = owners_.find(owner);
    if (found == owners_.end()) return;
    const auto& webhooks = found->second.webhooks;
    auto at = webhooks.upper_bound(after);
    while (at != webhooks.end() && visit(*at->second)) ++at;
}

Usage WebhookDirectory::usage_of(std::string_view owner) const {
    const auto found = owners_.find(owner);
    return found == owners_.end() ? Usage{} : found->second.usage;
}

}  // namespace beckon::retry
