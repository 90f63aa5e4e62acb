#include "retry/node/left_records.hpp"

#include "retry/webhook/webhook.hpp"

#include <map>
#include <utility>

namespace beckon::retry {

LeftRecords::LeftRecords(Context context)
    : context_(std::move(context)), lifetime_(context_.executor) {}

void LeftRecords::remove_some() {
    if (open_ > 0) return;
    std::map<core::Partition, std::vector<std::string>> found;
    for (const auto& id : context_.webhooks.without_webhook()) {
        const auto partition = core::partition_of(id, context_.partitions);
        if (!may_remove(id, partition)) continue;
        auto& some = found[partition];
        if (some.size() < kAtOnceMost) some.push_back(id);
    }
    open_ = found.size();
    for (const auto& one : found) {
        context_.confirm(one.first, lifetime_.guard([this, one](const core::Result<void>& passed) {
            --open_;
            if (passed) remove(one.first, one.second);
        }));
    }
}

bool LeftRecords::may_remove(const std::string& id, core::Partition partition) const {
    return context_.webhooks.broken() == 0 && context_.ours(partition) &&
           context_.webhooks.without_webhook().contains(id);
}

void LeftRecords::remove(core::Partition partition, const std::vector<std::string>& ids) {
    for (const auto& id : ids) {
        if (!may_remove(id, partition)) continue;
        publish(partition, encode_state_removed(id));
        publish(partition, encode_filter_removed(id));
    }
}

void LeftRecords::publish(core::Partition partition, core::Record record) {
    ++open_;
    context_.publisher.publish({log::Topic::kWebhooks, partition}, std::move(record),
                               lifetime_.guard([this](const auto&) { --open_; }));
}

}  // namespace beckon::retry
