#include "core/base64url.hpp"
#include "edge/frames.hpp"
#include "edge/home/home_impl.hpp"

#include <algorithm>

namespace beckon::edge {

namespace {

constexpr int kOk = 200;
constexpr int kBadKey = 400;
constexpr int kLogFailed = 500;

}  // namespace

void Home::Impl::change(Identified& session, const Register& frame) {
    std::optional<core::Sha256> vapid;
    if (frame.key) {
        const auto key = core::parse_base64url(*frame.key);
        if (!key) {
            say(session.id, register_frame(frame.channel, kBadKey, kEndpointRefused));
            return;
        }
        vapid = core::sha256(*key);  // neither its length nor its curve is checked (§5.2)
    }
    if (session.changes_in_flight >= kChangesInFlightMax) {
        say(session.id, register_frame(frame.channel, kLogFailed, ""));
        return;
    }
    const auto now = ports.log_clock.now();
    const bool new_client = !store->client(session.uaid);
    const auto id = ++next_change;
    changes.emplace(
        id, Change{.kind = Change::Kind::registering,
                   .session = session.id,
                   .uaid = session.uaid,
                   .channel = frame.channel,
                   .endpoint = options.endpoint_url + "/wpush/" +
                               ports.tokens.seal_endpoint(session.uaid, frame.channel, vapid),
                   .reports_missing = new_client ? 2 : 1});
    ++session.changes_in_flight;
    if (new_client) {
        // Before its first channel. A second register that comes before this one is folded writes
        // it again, so that each stands and falls alone.
        publish(id, core::encode(core::ClientRecorded{.uaid = session.uaid,
                                                      .router_type = core::RouterType::webpush,
                                                      .router_data = std::nullopt,
                                                      .created = now,
                                                      .last_seen = now,
                                                      .stamp = stamp()}));
    }
    std::string digest;
    if (vapid) {
        digest = core::hex({reinterpret_cast<const char*>(vapid->data()), vapid->size()});
    }
    publish(id, core::encode(core::ChannelRecorded{
                    .uaid = session.uaid,
                    .channel = frame.channel,
                    .created = now,
                    .vapid_sha256 = vapid ? std::optional<std::string_view>{digest} : std::nullopt,
                    .stamp = stamp()}));
}

void Home::Impl::change(Identified& session, const Unregister& frame) {
    if (session.changes_in_flight >= kChangesInFlightMax) {
        say(session.id, unregister_frame(frame.channel, kLogFailed));
        return;
    }
    const bool under_way = session.changes_in_flight > 0;
    if (!under_way && !store->channel(session.uaid, frame.channel)) {
        say(session.id, unregister_frame(frame.channel, kOk));  // it was not there (§5.3)
        return;
    }
    const auto id = ++next_change;
    changes.emplace(id, Change{.kind = Change::Kind::unregistering,
                               .session = session.id,
                               .uaid = session.uaid,
                               .channel = frame.channel,
                               .endpoint = {},
                               .reports_missing = 1});
    ++session.changes_in_flight;
    publish(id, core::encode(core::ChannelRemoved{
                    .uaid = session.uaid, .channel = frame.channel, .stamp = stamp()}));
}

void Home::Impl::publish(std::uint64_t change, core::Record record) {
    ports.publisher.publish(
        {log::Topic::kSubscriptions, options.partition}, std::move(record),
        guarded([change](Impl& self, const core::Result<log::Appended>& result) {
            self.reported(change, result);
        }));
}

void Home::Impl::reported(std::uint64_t id, const core::Result<log::Appended>& result) {
    const auto it = changes.find(id);
    if (it == changes.end()) return;  // the lease was lost meanwhile
    auto& change = it->second;
    if (result) {
        change.last = std::max(change.last, result->offset);
    } else {
        change.failed = true;  // certainly or possibly not in the log
    }
    if (--change.reports_missing > 0) return;
    if (!change.failed) {
        changes_by_offset.emplace(change.last, id);
        schedule_turn();
        return;
    }
    auto node = changes.extract(it);
    complete(node.mapped());
}

/// A reply follows the fold: what the client is told, this home has read back from the log.
void Home::Impl::complete_changes() {
    while (!changes_by_offset.empty() && changes_by_offset.begin()->first < subscriptions.next) {
        auto node = changes.extract(changes_by_offset.begin()->second);
        changes_by_offset.erase(changes_by_offset.begin());
        complete(node.mapped());
    }
}

void Home::Impl::complete(const Change& change) {
    if (auto* session = find(change.session, change.uaid)) --session->changes_in_flight;
    if (change.kind == Change::Kind::registering) {
        const bool ok = !change.failed;
        say(change.session, register_frame(change.channel, ok ? kOk : kLogFailed,
                                           ok ? std::string_view{change.endpoint} : ""));
        return;
    }
    if (!change.failed) drop_pending_of(change.uaid, change.channel);
    say(change.session, unregister_frame(change.channel, change.failed ? kLogFailed : kOk));
}

/// What still waits of a channel that is gone. What arrives later is delivered or expires: there is
/// no common order between the two log topics (DESIGN §5).
void Home::Impl::drop_pending_of(const core::Uaid& uaid, const core::ChannelId& channel) {
    std::vector<core::MessageKey> keys;
    store::DrainCursor cursor{.topics = true, .after = -1, .until = notifications.next};
    bool done = false;
    while (!done) {
        done = store
                   ->read_pending(uaid, cursor, kDrainBatch, ports.log_clock.now(),
                                  [&](const store::MessageView& message) {
                                      if (message.channel == channel) keys.push_back(message.key);
                                  })
                   .done;
    }
    for (const auto& key : keys) {
        store->owe(uaid, key, core::FinishReason::unregistered);
        finished_elsewhere(uaid, key);
    }
    if (store->dirty()) schedule_turn();
}

/// Writes `last_seen` if it is a day old. A failure is no harm: the next connect writes it.
void Home::Impl::see(const Identified& session) {
    const auto now = ports.log_clock.now();
    const auto client = store->client(session.uaid);
    auto again = kSeenEvery;
    if (client && now - client->last_seen < kSeenEvery) {
        again = std::max<core::Duration>(kSeenEvery - (now - client->last_seen), kTick);
    } else if (client) {
        const bool bridged = !client->router_data.empty();
        ports.publisher.publish(
            {log::Topic::kSubscriptions, options.partition},
            core::encode(core::ClientRecorded{
                .uaid = session.uaid,
                .router_type = client->router_type,
                .router_data =
                    bridged ? std::optional<std::string_view>{client->router_data} : std::nullopt,
                .created = client->created,
                .last_seen = now,
                .stamp = stamp()}),
            [](const auto&) {});
    }
    auto& mine = sessions.at(session.uaid);
    seen_due.erase({mine.seen_due, mine.uaid});
    mine.seen_due = ports.clock.mono() + again;
    seen_due.emplace(mine.seen_due, mine.uaid);
}

void Home::Impl::publish_truth(const core::Uaid& uaid,
                               const std::optional<core::ChannelId>& channel) {
    core::Record record;
    if (!channel) {
        const auto client = store->client(uaid);
        if (client) {
            const bool bridged = !client->router_data.empty();
            record = core::encode(core::ClientRecorded{
                .uaid = uaid,
                .router_type = client->router_type,
                .router_data =
                    bridged ? std::optional<std::string_view>{client->router_data} : std::nullopt,
                .created = client->created,
                .last_seen = client->last_seen,
                .stamp = stamp()});
        } else {
            record = core::encode(core::ClientRemoved{.uaid = uaid, .stamp = stamp()});
        }
    } else {
        const auto held_channel = store->channel(uaid, *channel);
        if (held_channel) {
            const auto& vapid = held_channel->vapid_sha256;
            record = core::encode(core::ChannelRecorded{
                .uaid = uaid,
                .channel = *channel,
                .created = held_channel->created,
                .vapid_sha256 =
                    vapid.empty() ? std::nullopt : std::optional<std::string_view>{vapid},
                .stamp = stamp()});
        } else {
            record = core::encode(
                core::ChannelRemoved{.uaid = uaid, .channel = *channel, .stamp = stamp()});
        }
    }
    // A failure leaves the late record in the log until the next one of this key.
    ports.publisher.publish({log::Topic::kSubscriptions, options.partition}, std::move(record),
                            [](const auto&) {});
}

}  // namespace beckon::edge
