#include "fold/webhook_owners.hpp"

#include "log/read_partition.hpp"
#include "records/events.hpp"
#include "records/own_event.hpp"
#include "records/receipt.hpp"

#include <utility>

namespace beckon::fold {

WebhookOwners::WebhookOwners(Options options, Context context)
    : options_(std::move(options)),
      publisher_(context.log.open_publisher(context.executor)),
      state_({.folder = options_.folder,
              .inputs = log::all_of(log::Topic::kWebhooks, options_.partitions),
              .node = options_.node},
             {context.log, publisher_.get(), context.executor, context.clock},
             {.apply = [this](const auto&, const auto& record) { apply(record); },
              .cleared = [this] { clear(); },
              .caught_up = [this] { complete(); }}) {
    state_.start();
}

bool WebhookOwners::may_want(std::string_view owner) const {
    const std::scoped_lock lock{mutex_};
    return !complete_ || owners_.contains(owner);
}

std::size_t WebhookOwners::size() const {
    const std::scoped_lock lock{mutex_};
    return webhooks_.size();
}

/// The record of a webhook's state has another key: an event for a disabled webhook is written in
/// vain, and harmless.
void WebhookOwners::apply(const core::RecordView& record) {
    if (core::is_control_key(record.key) || record.key.find('/') != std::string_view::npos) return;
    auto owner = core::owner_wanting(record, options_.type);
    const std::scoped_lock lock{mutex_};
    forget(record.key);
    if (!owner || !owner->starts_with(core::kVapidOwner)) return;
    ++owners_[*owner];
    webhooks_.insert_or_assign(std::string{record.key}, std::move(*owner));
}

void WebhookOwners::forget(std::string_view webhook) {
    const auto found = webhooks_.find(webhook);
    if (found == webhooks_.end()) return;
    const auto owner = owners_.find(found->second);
    if (--owner->second == 0) owners_.erase(owner);
    webhooks_.erase(found);
}

void WebhookOwners::clear() {
    const std::scoped_lock lock{mutex_};
    complete_ = false;
    webhooks_.clear();
    owners_.clear();
}

void WebhookOwners::complete() {
    const std::scoped_lock lock{mutex_};
    complete_ = true;
}

}  // namespace beckon::fold
