#include "tools/subscriptions/import_plan.hpp"

#include <algorithm>
#include <variant>

namespace beckon::tools {

namespace {

using Stamp = std::optional<core::WriteStamp>;

/// Below every lease's epoch: all later records of a home are newer.
constexpr core::WriteStamp kImported{.epoch = 0, .seq = 1};

/// A removal is final for every record that is not above it; a home goes on above what it reads.
core::WriteStamp above(const core::WriteStamp& removal) {
    return {.epoch = removal.epoch, .seq = removal.seq + 1};
}

void take(std::optional<KnownKey>& known, bool live, const Stamp& stamp) {
    const bool older = known && known->stamp && stamp && *stamp <= *known->stamp;
    if (!older) known = KnownKey{live, stamp};
}

bool is_removed(const KnownClient& known) { return known.client && !known.client->live; }

core::WriteStamp stamp_of_client(const KnownClient& known) {
    if (is_removed(known) && known.client->stamp) return above(*known.client->stamp);
    return kImported;
}

core::WriteStamp stamp_of_channel(const KnownClient& known, const core::ChannelId& channel) {
    auto stamp = stamp_of_client(known);
    const auto at = known.channels.find(channel);
    if (is_removed(known) && at != known.channels.end() && at->second.stamp) {
        stamp = std::max(stamp, above(*at->second.stamp));
    }
    return stamp;
}

}  // namespace

KnownClients::KnownClients(const std::vector<ImportedClient>& wanted) {
    for (const auto& client : wanted) known_.try_emplace(client.uaid);
}

void KnownClients::fold(const core::SubscriptionsEvent& event) {
    const auto of_client = [this](const auto& record, bool live) {
        const auto at = known_.find(record.uaid);
        if (at != known_.end()) take(at->second.client, live, record.stamp);
    };
    const auto of_channel = [this](const auto& record, bool live) {
        const auto at = known_.find(record.uaid);
        if (at == known_.end()) return;
        auto& channels = at->second.channels;
        const auto found = channels.find(record.channel);
        auto known = found == channels.end() ? std::nullopt : std::optional{found->second};
        take(known, live, record.stamp);
        channels[record.channel] = *known;
    };
    std::visit(
        core::Overloaded{[&](const core::ClientRecorded& record) { of_client(record, true); },
                         [&](const core::ClientRemoved& record) { of_client(record, false); },
                         [&](const core::ChannelRecorded& record) { of_channel(record, true); },
                         [&](const core::ChannelRemoved& record) { of_channel(record, false); },
                         [](const core::BarrierRecord&) {}, [](const core::Lease&) {},
                         [](const core::Unknown&) {}},
        event);
}

ImportPlan plan_import(const ImportedClient& client, const KnownClient& known,
                       const ImportLimits& limits) {
    const bool bridged = client.router_type != core::RouterType::webpush;
    // A clock that was ahead there would keep the client here for years.
    const auto seen =
        limits.seen_now ? limits.now : std::min(client.last_seen.value_or(limits.now), limits.now);
    const bool live = !bridged && known.client && known.client->live;
    if (!bridged && !live && limits.now - seen > limits.client_ttl) {
        return {.kind = ImportKind::too_old, .records = {}};
    }
    ImportPlan plan{.kind = live                ? ImportKind::unchanged
                            : is_removed(known) ? ImportKind::again
                                                : ImportKind::fresh,
                    .records = {}};
    if (!live) {
        core::ClientRecorded record;
        record.uaid = client.uaid;
        record.router_type = client.router_type;
        record.router_data = client.router_data;
        record.created = record.last_seen = seen;
        // (records of bridged clients fold in the order of the log)
        if (!bridged) record.stamp = stamp_of_client(known);
        plan.records.push_back(core::encode(record));
    }
    for (const auto& id : client.channels) {
        // A channel that its client has unregistered since stays so.
        if (live && known.channels.contains(id)) continue;
        core::ChannelRecorded record;
        record.uaid = client.uaid;
        record.channel = id;
        record.created = seen;
        const auto key = client.vapid_sha256.find(id);
        if (key != client.vapid_sha256.end()) record.vapid_sha256 = key->second;
        if (!bridged) record.stamp = stamp_of_channel(known, id);
        plan.records.push_back(core::encode(record));
        ++plan.channels;
    }
    if (live && plan.channels > 0) plan.kind = ImportKind::completed;
    return plan;
}

}  // namespace beckon::tools
