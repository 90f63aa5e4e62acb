#include "edge/home/registration/registrations.hpp"

#include "core/base64url.hpp"
#include "core/client_code.hpp"
#include "edge/protocol/frames.hpp"
#include "records/fields.hpp"
#include "records/receipt.hpp"

#include <utility>

namespace beckon::edge {

namespace {

/// The least time between two checks of a client.
constexpr core::Duration kSeenAgain = std::chrono::seconds{1};
/// The least time between two counts of the channels of a client that has too many.
constexpr core::Duration kCountAgain = std::chrono::seconds{1};

}  // namespace

Registrations::Registrations(const PartContext& context, Delivery& delivery)
    : where_{log::Topic::kSubscriptions, context.partition},
      context_(context),
      purges_(context, delivery),
      gone_events_(context.options.partitions, {.publisher = context.fold.publisher(),
                                                .executor = context.executor,
                                                .clock = context.clock,
                                                .wanted = context.gone_wanted}),
      lifetime_(context_.executor) {}

void Registrations::begin(core::Epoch epoch) {
    epoch_ = epoch;
    sequence_ = 0;
    repair_due_ = true;  // stale writes that the home read while it did not serve
    repair_cursor_.reset();
}

void Registrations::stop() {
    lifetime_.renew();
    seen_due_.clear();
    changing_.clear();
    registering_.clear();
    purges_.clear();
    gone_events_.stop();
}

bool Registrations::turn() {
    const bool purging = purges_.turn();
    return repair_stale_writes() || purging;
}

/// Whether the client may not add the channel. Its channels are counted when it has added as many
/// as it could at the last count, and at most once a second for those that are refused.
bool Registrations::has_too_many(Session& session, const core::ChannelId& channel) {
    if (context_.store.channel(session.uaid, channel)) return false;
    if (session.channels_left == 0) count_channels(session);
    if (session.channels_left == 0) return true;
    --session.channels_left;
    return false;
}

/// Changes under way count as new channels.
void Registrations::count_channels(Session& session) {
    const auto now = context_.clock.mono();
    if (now < session.count_again) return;
    session.count_again = now + kCountAgain;
    const store::ChannelLimit limit{context_.options.channels_per_client_max};
    auto count = context_.store.count_channels(session.uaid, limit.rows_max());
    const auto others = session.changes_in_flight() - 1;
    count.living += others;
    count.rows += others;
    session.channels_left = limit.left(count);
}

void Registrations::change(Session& session, const ChannelChange& request) {
    if (request.kind == ChannelChange::Kind::add && has_too_many(session, request.channel)) {
        session.change_answered();
        return context_.output.frame(
            session.id, register_frame(request.channel, kStatusTooMany, kTooManyChannels));
    }
    const auto change = std::make_shared<Change>();
    change->request = request;
    change->session = session.id;
    change->client = session.uaid;
    ++changing_[change->client];
    switch (request.kind) {
        case ChannelChange::Kind::add:
            registering_.emplace(session.uaid, request.channel);
            add(change, session.uaid);
            break;
        case ChannelChange::Kind::remove: remove(change, session.uaid); break;
    }
}

void Registrations::add(const ChangePtr& change, const core::Uaid& client) {
    const auto now = context_.log_now();
    const auto& channel = change->request.channel;
    const auto& vapid = change->request.vapid;
    change->endpoint = context_.options.endpoint_url + "/wpush/" +
                       context_.tokens.seal_endpoint(client, channel, vapid);
    const bool is_new = !context_.store.client(client);
    change->reports_missing = is_new ? 2 : 1;
    if (is_new) {
        // Before its first channel. A second register that comes before this one is folded writes
        // it again, so that each stands and falls alone.
        store::StoredClient fresh;
        fresh.created = now;
        publish(change, client_record(client, fresh, now));
    }
    std::string digest;
    if (vapid) {
        digest = core::hex(*vapid);
    }
    publish(change,
            core::encode(core::ChannelRecorded{
                .uaid = client,
                .channel = channel,
                .created = now,
                .vapid_sha256 = vapid ? std::optional<std::string_view>{digest} : std::nullopt,
                .stamp = stamp()}));
}

/// A channel that is not there leaves no row behind: a client could make any number of them.
void Registrations::remove(const ChangePtr& change, const core::Uaid& client) {
    const auto& channel = change->request.channel;
    change->removed = context_.store.channel(client, channel);
    if (!change->removed && !registering_.contains({client, channel})) {
        change->failed = context_.store.broken();
        answer(*change);  // it was not there, as the client wants
        return;
    }
    change->reports_missing = 1;
    auto tombstone =
        core::encode(core::ChannelRemoved{.uaid = client, .channel = channel, .stamp = stamp()});
    core::add_client_code(tombstone, change->request.code);
    publish(change, std::move(tombstone));
}

void Registrations::publish(const ChangePtr& change, core::Record record) {
    context_.fold.publisher().publish(
        where_, std::move(record),
        lifetime_.guard([this, change](const core::Result<log::Appended>& result) {
            reported(change, result);
        }));
}

/// After a failure the log keeps its record until the next record of that key.
void Registrations::publish(core::Record record) {
    context_.fold.publisher().publish(where_, std::move(record), [](const auto&) {});
}

void Registrations::reported(const ChangePtr& change, const core::Result<log::Appended>& result) {
    if (result) {
        change->last = std::max(change->last, result->offset);
    } else {
        change->failed = true;  // certainly or possibly not in the log
    }
    if (--change->reports_missing > 0) return;
    if (change->failed) {
        answer(*change);
        context_.home.flush_or_turn();
        return;
    }
    context_.fold.when_folded(kSubscriptionsInput, change->last,
                              lifetime_.guard([this, change](const core::Result<void>& is_folded) {
                                  change->failed = !is_folded;
                                  folded(change);
                              }));
}

void Registrations::folded(const ChangePtr& change) {
    const bool removed = change->request.kind == ChannelChange::Kind::remove && !change->failed;
    if (removed) {
        if (change->removed) {
            publish_gone(change->client, *change->removed, core::GoneReason::unregistered);
        }
        purges_.begin(change->client, change->request.channel,
                      lifetime_.guard([this, change] { answer(*change); }));
        context_.fold.request_turn();
        return;
    }
    answer(*change);
    context_.home.flush_or_turn();
}

/// Notifies the application server that the subscription was bound to. This home publishes the end
/// at most once; if it does not, the endpoint publishes it with the next 410.
void Registrations::publish_gone(const core::Uaid& client, const store::StoredChannel& channel,
                                 core::GoneReason reason) {
    const auto owner = core::owner_name_of_hash(channel.vapid_sha256);
    const auto key = core::parse_sha256(channel.vapid_sha256);
    if (!owner || !key) return;
    gone_events_.report({.uaid = client,
                         .channel = channel.channel,
                         .owner = *owner,
                         .endpoint = context_.options.endpoint_url + "/wpush/" +
                                     context_.tokens.seal_endpoint(client, channel.channel, key),
                         .reason = reason});
}

void Registrations::no_longer_changing(const core::Uaid& client) {
    const auto at = changing_.find(client);
    if (at != changing_.end() && --at->second == 0) changing_.erase(at);
}

void Registrations::answer(const Change& change) {
    no_longer_changing(change.client);
    if (change.request.kind == ChannelChange::Kind::add) {
        const auto at = registering_.find({change.client, change.request.channel});
        if (at != registering_.end()) registering_.erase(at);
    }
    if (auto* session = context_.sessions.find(change.session, change.client)) {
        session->change_answered();
        if (change.removed) session->count_again = {};  // there may be space again
        const bool has_record = !change.failed && change.request.kind == ChannelChange::Kind::add;
        if (has_record && !std::exchange(session->persisted, true)) {
            // Before the answer: a front that knows of the answer knows of this.
            context_.output.attached({.session = session->id,
                                      .uaid = session->uaid,
                                      .stamp = session->stamp,
                                      .persisted = true});
        }
    }
    const int status = change.failed ? kStatusFailed : kStatusOk;
    const auto& channel = change.request.channel;
    switch (change.request.kind) {
        case ChannelChange::Kind::add:
            context_.output.frame(
                change.session,
                register_frame(channel, status, change.failed ? "" : change.endpoint));
            break;
        case ChannelChange::Kind::remove:
            context_.output.frame(change.session, unregister_frame(channel, status));
            break;
    }
}

core::Record Registrations::client_record(const core::Uaid& client,
                                          const store::StoredClient& stored,
                                          core::Timestamp last_seen) {
    const bool bridged = !stored.router_data.empty();
    return core::encode(core::ClientRecorded{
        .uaid = client,
        .router_type = stored.router_type,
        .router_data = bridged ? std::optional<std::string_view>{stored.router_data} : std::nullopt,
        .created = stored.created,
        .last_seen = last_seen,
        .stamp = stamp()});
}

void Registrations::remove_client(const core::Uaid& client, std::function<void(bool)> done) {
    ++changing_[client];
    const auto removed = [this, client, channels = context_.store.channels(client),
                          done = std::move(done)](bool is_folded) {
        no_longer_changing(client);
        repair_is_due();  // the client's channels, which were passed over while it changed
        for (const auto& channel : channels) {
            if (is_folded) publish_gone(client, channel, core::GoneReason::client_removed);
        }
        done(is_folded);
    };
    context_.fold.publisher().publish(
        where_, core::encode(core::ClientRemoved{.uaid = client, .stamp = stamp()}),
        lifetime_.guard([this, removed](const core::Result<log::Appended>& result) {
            if (!result) return removed(false);
            context_.fold.when_folded(
                kSubscriptionsInput, result->offset,
                lifetime_.guard([removed](const core::Result<void>& is_folded) {
                    removed(is_folded.has_value());
                }));
        }));
}

void Registrations::attached(Session& session) { write_last_seen(session); }

void Registrations::detached(const Session& session) {
    seen_due_.erase({session.seen_due, session.uaid});
}

void Registrations::write_last_seen(Session& session) {
    const auto now = context_.log_now();
    auto again = kSeenEvery;
    const auto client = context_.store.client(session.uaid);
    if (client && changing_.contains(session.uaid)) {
        again = kSeenAgain;  // the store's row may be about to be removed
    } else if (client) {
        if (now - client->last_seen < kSeenEvery) {
            again = std::max<core::Duration>(kSeenEvery - (now - client->last_seen), kSeenAgain);
        } else {
            publish(client_record(session.uaid, *client, now));
        }
    }
    session.seen_due = context_.clock.mono() + again;
    seen_due_.emplace(session.seen_due, session.uaid);
}

void Registrations::tick() {
    const auto now = context_.clock.mono();
    if (now >= repair_again_) repair_due_ = true;
    for (std::size_t budget = kSeenBudget; budget > 0; --budget) {
        if (seen_due_.empty() || seen_due_.begin()->first > now) return;
        const auto client = seen_due_.begin()->second;
        seen_due_.erase(seen_due_.begin());
        if (auto* session = context_.sessions.of(client)) write_last_seen(*session);
    }
}

/// A client with a change under way is not repaired: the store's row is older than the change, and
/// would undo it. The next round checks it again.
bool Registrations::repair_stale_writes() {
    if (!repair_due_) return false;
    const auto found = context_.store.stale_writes_after(repair_cursor_, kRepairBudget);
    for (const auto& [client, channel] : found) {
        if (changing_.contains(client)) continue;
        channel ? repair(client, *channel) : repair(client);
    }
    repair_due_ = found.size() == kRepairBudget;
    if (repair_due_) {
        repair_cursor_ = found.back();
    } else {
        repair_cursor_.reset();
        repair_again_ = context_.clock.mono() + kRepairEvery;
    }
    return repair_due_;
}

void Registrations::repair(const core::Uaid& client) {
    if (const auto stored = context_.store.client(client)) {
        publish(client_record(client, *stored, stored->last_seen));
    } else {
        publish(core::encode(core::ClientRemoved{.uaid = client, .stamp = stamp()}));
    }
}

void Registrations::repair(const core::Uaid& client, const core::ChannelId& channel) {
    const auto stored = context_.store.channel(client, channel);
    if (!stored) {
        publish(core::encode(
            core::ChannelRemoved{.uaid = client, .channel = channel, .stamp = stamp()}));
        return;
    }
    const auto& vapid = stored->vapid_sha256;
    publish(core::encode(core::ChannelRecorded{
        .uaid = client,
        .channel = channel,
        .created = stored->created,
        .vapid_sha256 = vapid.empty() ? std::nullopt : std::optional<std::string_view>{vapid},
        .stamp = stamp()}));
}

void Purges::begin(const core::Uaid& client, const core::ChannelId& channel, Done done) {
    auto& job = job_of(client);
    job.channels.insert(channel);
    job.done.push_back(std::move(done));
}

void Purges::begin_all(const core::Uaid& client, Done done) {
    auto& job = job_of(client);
    job.all = true;
    job.done.push_back(std::move(done));
}

Purges::Job& Purges::job_of(const core::Uaid& client) {
    const auto [at, is_new] = waiting_.try_emplace(client);
    if (is_new) order_.push_back(client);
    return at->second;
}

void Purges::clear() {
    order_.clear();
    waiting_.clear();
    running_ = {};
}

void Purges::start_next() {
    client_ = order_.front();
    order_.pop_front();
    running_ = std::move(waiting_.extract(client_).mapped());
    cursor_ = {.topics = true, .after = -1, .until = context_.position()};
}

bool Purges::turn() {
    if (running_.done.empty()) {
        if (order_.empty()) return false;
        start_next();
    }
    if (!read_piece()) return true;
    for (const auto& done : std::exchange(running_, {}).done) done();
    return !order_.empty();
}

/// True if it was the last one.
bool Purges::read_piece() {
    std::vector<core::MessageKey> found;
    const auto read = context_.store.read_pending(
        client_, cursor_, kBudget, context_.log_now(), [&](const store::MessageView& message) {
            const bool goes = running_.all || running_.channels.contains(message.channel);
            if (goes) found.push_back(message.key);
        });
    context_.store.expire(client_, read.expired);
    for (const auto& message : found) {
        context_.store.add_tombstone(client_, message, core::FinishReason::unregistered);
        delivery_.finished(client_, message, core::FinishReason::unregistered);
    }
    return read.done;
}

}  // namespace beckon::edge
