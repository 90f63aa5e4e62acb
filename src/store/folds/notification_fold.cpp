#include "store/folds/notification_fold.hpp"

#include "core/assert.hpp"
#include "store/partition_store.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace beckon::store {

namespace {

/// Finished keys are remembered for ten minutes (docs/design.md#a-key-is-published-once).
constexpr std::chrono::minutes kRemember{10};
/// As many as a home publishes at a time (edge/home/delivery/tombstone_outbox.hpp).
constexpr std::size_t kPostponedMax = 4'096;

/// The end of the message of a pending row; nullopt: it is not tracked.
std::optional<PendingTombstone::End> end_of(const KeyRow& row,
                                            std::optional<core::Milestone> milestone) {
    if (row.reliability_id.empty()) return std::nullopt;
    return PendingTombstone::End{.message = {.id = row.reliability_id, .expires = row.until},
                                 .milestone = milestone};
}

KeyRow tombstone_row(core::Offset put_offset) {
    return {
        .state = KeyRow::State::tombstone_pending, .offset = put_offset, .until = {}, .slot = {}};
}

}  // namespace

NotificationFold::NotificationFold(Database& database, Months& months, core::Partition partition)
    : database_(database),
      partition_(partition),
      keys_family_(database.family("keys")),
      replacements_family_(database.family("replacements")),
      messages_(database, months, partition),
      pending_tombstones_(database, partition) {
    reset();
}

std::vector<FamilySpec> NotificationFold::families() {
    return {{"keys", FamilyKind::keys},
            {"replacements", FamilyKind::rows},
            PendingTombstoneTable::family_spec()};
}

void NotificationFold::fail(core::Error error) {
    if (!broken_) broken_ = std::move(error);
}

// --- rows

template <class Parse>
auto NotificationFold::read_row(const Family& family, std::string_view row_key, Parse parse)
    -> decltype(parse(std::string_view{})) {
    auto row = database_.get(family, row_key, parse);
    if (row) return std::move(*row);
    fail(row.error());
    return std::nullopt;
}

std::optional<KeyRow> NotificationFold::key_row(const KeyName& name) {
    if (const auto* ack = postponed_.find(name)) return tombstone_row(ack->pending.put_offset);
    return resumed_row(name);
}

std::optional<KeyRow> NotificationFold::resumed_row(const KeyName& name) {
    if (const auto* change = keys_.find(name)) return change->row;
    const auto row_key = key_row_key(partition_, name.uaid, name.key);
    return read_row(keys_family_, row_key.view(), parse_key_row);
}

std::optional<ReplacementRow> NotificationFold::replacement_row(const std::string& row_key) {
    if (const auto* change = replacements_.find(row_key)) return change->row;
    return read_row(replacements_family_, row_key, parse_replacement_row);
}

void NotificationFold::erase_from_pending(const KeyName& name, const KeyRow& row) {
    messages_.remove(name.uaid, row.order(), row.until);
    keys_.erase(name);
    finished_.remember(name.key, row.offset, latest_);
    if (row.slot.empty()) return;
    replacements_.erase(replacement_row_key(partition_, name.uaid, row.slot));
}

// --- the fold

PutOutcome NotificationFold::put(core::Offset offset, core::Timestamp appended,
                                 const core::NotificationAccepted& message,
                                 std::optional<core::MessageKey>* replaced) {
    BECKON_ASSERT(!in_sink_, "a sink must not call the store");
    if (replaced) replaced->reset();
    raise_latest(appended);
    const KeyName name{message.uaid, message.key};
    resume(name);
    bool key_in_table = false;
    if (const auto outcome = refuse(offset, appended, name, key_in_table)) return *outcome;

    const auto expiry = core::expiry_of(appended, message.ttl_s);
    KeyRow row{.state = KeyRow::State::pending, .offset = offset, .until = expiry, .slot = {}};
    if (message.reliability_id) row.reliability_id = *message.reliability_id;
    std::string slot_row_key;
    if (message.topic && !message.topic->empty()) {
        row.slot = replacement_slot(message.channel, *message.topic);
        slot_row_key = replacement_row_key(partition_, message.uaid, row.slot);
        if (!fill_slot(offset, appended, message.uaid, slot_row_key, replaced)) {
            return add_tombstone_at_once(offset, name, core::FinishReason::replaced,
                                         PutOutcome::finished,
                                         end_of(row, core::Milestone::replaced));
        }
    }
    if (message.ttl_s == 0) {
        return add_tombstone_at_once(offset, name, core::FinishReason::expired,
                                     PutOutcome::ttl_zero);
    }
    const MessageView stored{.offset = offset,
                             .appended = appended,
                             .expiry = expiry,
                             .key = message.key,
                             .channel = message.channel,
                             .message_id = message.message_id,
                             .topic = message.topic,
                             .encoding = message.encoding,
                             .encryption = message.encryption,
                             .crypto_key = message.crypto_key,
                             .reliability_id = message.reliability_id,
                             .body = message.body};
    messages_.put(message.uaid, row.order(), stored);
    if (!slot_row_key.empty()) {
        // fill_slot() looked: if the table has a row of that name, there is a change by now.
        replacements_.put(slot_row_key, {.offset = offset, .expiry = expiry, .key = message.key},
                          false);
    }
    keys_.put(name, std::move(row), key_in_table);
    return PutOutcome::pending;
}

std::optional<PutOutcome> NotificationFold::refuse(core::Offset offset, core::Timestamp appended,
                                                   const KeyName& name, bool& key_in_table) {
    using enum PutOutcome;
    const auto rises_again = [&] {
        return add_tombstone_at_once(offset, name, core::FinishReason::dropped, finished);
    };
    const auto row = resumed_row(name);
    if (row && row->state == KeyRow::State::tombstone_pending) {
        return offset <= row->offset ? repeated : rises_again();
    }
    if (const auto* known = finished_.find(name.key); known && appended < known->when + kRemember) {
        return offset <= known->put_offset ? repeated : rises_again();
    }
    if (!row) return std::nullopt;
    if (row->state == KeyRow::State::pending) return repeated;
    key_in_table = true;
    if (appended >= row->until) return std::nullopt;
    keys_.erase(name);
    return rises_again();
}

void NotificationFold::add_pending_tombstone(const PendingTombstone& pending) {
    const KeyName name{pending.uaid, pending.key};
    const auto row = key_row(name);
    if (row && row->state == KeyRow::State::tombstone_pending)
        erase_pending_tombstone(row->offset, name.key);
    pending_tombstones_.add(pending);
    new_tombstones_.add(pending);
    // key_row() looked: if the table has a row of that name, this may be it, or a change covers it.
    keys_.put(name, tombstone_row(pending.put_offset), row.has_value());
}

void NotificationFold::erase_pending_tombstone(core::Offset put_offset,
                                               const core::MessageKey& key) {
    new_tombstones_.erase(put_offset, key);
    pending_tombstones_.erase(put_offset, key);
}

PutOutcome NotificationFold::add_tombstone_at_once(core::Offset offset, const KeyName& name,
                                                   core::FinishReason reason, PutOutcome outcome,
                                                   std::optional<PendingTombstone::End> end) {
    add_pending_tombstone({.uaid = name.uaid,
                           .key = name.key,
                           .reason = reason,
                           .put_offset = offset,
                           .end = std::move(end)});
    return outcome;
}

/// Makes space for a Topic message: finishes the one that holds the slot. False: the holder is
/// newer, and the message itself is finished.
bool NotificationFold::fill_slot(core::Offset offset, core::Timestamp appended,
                                 const core::Uaid& uaid, const std::string& row_key,
                                 std::optional<core::MessageKey>* replaced) {
    const auto holder = replacement_row(row_key);
    if (!holder) return true;
    if (holder->offset > offset) return false;
    const KeyName older{uaid, holder->key};
    const auto key = key_row(older);
    messages_.remove(uaid, {.has_topic = true, .offset = holder->offset}, holder->expiry);
    keys_.erase(older);
    replacements_.erase(row_key);
    finished_.remember(holder->key, holder->offset, appended);
    if (replaced) *replaced = holder->key;
    // One that had expired may be gone from this store already, but not from another copy's; so
    // that all copies agree, no tombstone is pending for it. (Where the log's clock was set back
    // they may not, which costs a tombstone too many.)
    if (appended < holder->expiry) {
        add_tombstone_at_once(holder->offset, older, core::FinishReason::replaced,
                              PutOutcome::finished,
                              key ? end_of(*key, core::Milestone::replaced) : std::nullopt);
    }
    return true;
}

bool NotificationFold::finish(const core::NotificationFinished& done, core::Timestamp time) {
    BECKON_ASSERT(!in_sink_, "a sink must not call the store");
    raise_latest(time);
    const KeyName name{done.uaid, done.key};
    if (finish_postponed(name, time)) return true;
    const auto row = resumed_row(name);
    if (row && row->state == KeyRow::State::tombstone_pending) {
        finished_.remember(name.key, row->offset, time);
        if (done.reason == core::FinishReason::deleted && deleted_after_end(*row, name.key, time)) {
            return true;
        }
        erase_pending_tombstone(row->offset, name.key);
        keys_.erase(name);
        return true;
    }
    if (row && row->state == KeyRow::State::pending) {
        erase_from_pending(name, *row);
        // The sender's tombstone is the first sign of this end here: so that a crash loses it as
        // little as another, it is reported with a tombstone of our own.
        if (auto end = end_of(*row, core::Milestone::deleted);
            end && done.reason == core::FinishReason::deleted && time < row->until) {
            add_tombstone_at_once(row->offset, name, done.reason, PutOutcome::finished,
                                  std::move(end));
        }
        return true;
    }
    if (finished_.find(name.key)) return true;  // a repeated tombstone
    remember_tombstone(name, time, row.has_value());
    return false;
}

/// Its sender deletes a tracked message after the home decided its end. Which came first is not in
/// the log: a copy that knows nothing of the end has a pending tombstone `deleted` from now on. So
/// this one has too, with the end that it knows. False: its pending tombstone goes, as it would
/// there.
bool NotificationFold::deleted_after_end(const KeyRow& row, const core::MessageKey& key,
                                         core::Timestamp time) {
    auto found = pending_tombstones_.find(row.offset, key);
    if (!found) {
        fail(found.error());
        return false;
    }
    auto& pending = *found;
    if (!pending || pending->reason == core::FinishReason::deleted || !pending->end ||
        time >= pending->end->message.expires) {
        return false;
    }
    pending->reason = core::FinishReason::deleted;
    pending_tombstones_.replace(*pending);
    return true;
}

/// A tombstone without a put: the put may still come, if a producer sent it twice.
void NotificationFold::remember_tombstone(const KeyName& name, core::Timestamp time,
                                          bool in_table) {
    keys_.put(name,
              {.state = KeyRow::State::done, .offset = -1, .until = time + kRemember, .slot = {}},
              in_table);
}

bool NotificationFold::add_tombstone(const core::Uaid& uaid, const core::MessageKey& key,
                                     core::FinishReason reason, std::optional<core::Milestone> end,
                                     bool may_wait) {
    BECKON_ASSERT(!in_sink_, "a sink must not call the store");
    const KeyName name{uaid, key};
    const auto row = key_row(name);
    if (!row || row->state != KeyRow::State::pending) return false;
    const PendingTombstone pending{.uaid = uaid,
                                   .key = key,
                                   .reason = reason,
                                   .put_offset = row->offset,
                                   .end = end_of(*row, end)};
    if (may_wait && may_postpone(name, *row)) {
        finished_.remember(name.key, row->offset, latest_);
        new_tombstones_.add(pending);
        postponed_.add(pending, row->until);
    } else {
        erase_from_pending(name, *row);
        add_pending_tombstone(pending);
    }
    return true;
}

/// Changes that cause a notification, or decide about other rows, go with the next commit.
bool NotificationFold::may_postpone(const KeyName& name, const KeyRow& row) const {
    return row.slot.empty() && row.reliability_id.empty() && !keys_.changed(name) &&
           postponed_.size() < kPostponedMax;
}

/// The end of most messages: its pending tombstone never was a row. Whose tombstone it is makes no
/// difference, since the message is not tracked.
bool NotificationFold::finish_postponed(const KeyName& name, core::Timestamp time) {
    const auto ack = postponed_.take(name);
    if (!ack) return false;
    const auto offset = ack->pending.put_offset;
    messages_.remove(name.uaid, {.has_topic = false, .offset = offset}, ack->expiry);
    keys_.erase(name);
    new_tombstones_.erase(offset, name.key);
    finished_.remember(name.key, offset, time);
    return true;
}

/// The next commit writes the changes of the key.
void NotificationFold::resume(const KeyName& name) {
    const auto ack = postponed_.take(name);
    if (!ack) return;
    const auto offset = ack->pending.put_offset;
    messages_.remove(name.uaid, {.has_topic = false, .offset = offset}, ack->expiry);
    pending_tombstones_.add(ack->pending);
    keys_.put(name, tombstone_row(offset), true);
}

void NotificationFold::write_postponed(bool all) {
    for (const auto& name : postponed_.due(all)) resume(name);
}

bool NotificationFold::tombstone_pending(const core::Uaid& uaid, const core::MessageKey& key) {
    const auto row = key_row({uaid, key});
    return row && row->state == KeyRow::State::tombstone_pending;
}

std::optional<core::Tracked> NotificationFold::tracked(const core::Uaid& uaid,
                                                       const core::MessageKey& key) {
    const auto row = key_row({uaid, key});
    if (!row || row->reliability_id.empty()) return std::nullopt;
    return core::Tracked{.id = row->reliability_id, .expires = row->until};
}

// --- reads

ReadOutcome NotificationFold::read_pending(const core::Uaid& uaid, DrainCursor& cursor,
                                           std::size_t max, core::Timestamp now,
                                           const std::function<void(const MessageView&)>& sink) {
    using Next = MessageTable::Next;
    BECKON_ASSERT(!in_sink_, "a sink must not call the store");
    ReadOutcome outcome{.messages = 0, .done = true, .expired = {}};
    const auto visit = [&](MessageOrder order, std::string_view value) {
        if (order.offset >= cursor.until) return order.has_topic ? Next::skip_topics : Next::stop;
        if (order.offset < cursor.from) return Next::skip_topics;
        if (postponed_.contains(order.offset)) return Next::go_on;
        outcome.done = outcome.messages < max && outcome.expired.size() < PartitionStore::kSkipMax;
        if (!outcome.done) return Next::stop;
        const auto message = parse_message(order, value);
        if (!message) {
            fail(undecodable("messages", database_.directory().string()));
            return Next::stop;
        }
        cursor.topics = order.has_topic;
        cursor.after = order.offset;
        if (now >= message->expiry) {
            outcome.expired.push_back({.key = message->key,
                                       .offset = order.offset,
                                       .expiry = message->expiry,
                                       .has_topic = order.has_topic});
        } else {
            sink(*message);
            ++outcome.messages;
        }
        return Next::go_on;
    };
    const auto start = std::max(cursor.after + 1, cursor.from);
    in_sink_ = true;
    const auto scanned =
        messages_.scan(uaid, {.has_topic = cursor.topics, .offset = start}, visit, cursor.from);
    in_sink_ = false;
    if (!scanned) fail(scanned.error());
    if (outcome.done) {
        cursor.topics = false;
        cursor.after = cursor.until;
    }
    return outcome;
}

void NotificationFold::expire(const core::Uaid& uaid, const std::vector<ExpiredMessage>& expired) {
    for (const auto& message : expired) {
        resume({uaid, message.key});
        const bool tombstone_pending = add_tombstone(uaid, message.key, core::FinishReason::expired,
                                                     core::Milestone::expired, false);
        if (tombstone_pending) continue;
        // Compaction has taken its key already: it is old enough to go without a tombstone.
        messages_.remove(uaid, {.has_topic = message.has_topic, .offset = message.offset},
                         message.expiry);
    }
}

std::vector<PendingTombstone> NotificationFold::pending_tombstones_after(
    const std::optional<PendingTombstone>& after, std::size_t max) {
    auto found = pending_tombstones_.page_after(after, max);
    if (!found) {
        fail(found.error());
        return {};
    }
    postponed_.merge_into(*found, after, max);
    return std::move(*found);
}

std::size_t NotificationFold::pending_count(const core::Uaid& uaid, std::size_t at_most) {
    std::size_t count = 0;
    if (at_most == 0) return count;
    const auto visit = [&](MessageOrder order, std::string_view) {
        if (postponed_.contains(order.offset)) return MessageTable::Next::go_on;
        return ++count == at_most ? MessageTable::Next::stop : MessageTable::Next::go_on;
    };
    const auto scanned = messages_.scan(uaid, {.has_topic = true, .offset = 0}, visit);
    if (!scanned) fail(scanned.error());
    return count;
}

// --- commits

core::Result<void> NotificationFold::write_to(rocksdb::WriteBatch& batch) {
    if (auto written = messages_.write_to(batch); !written) return written;
    BatchRows keys{batch, keys_family_};
    for (const auto* entry : keys_.in_order()) {
        const auto& [name, change] = *entry;
        keys.add(key_row_key(partition_, name.uaid, name.key).view(), change.row, append_key_row);
    }
    BatchRows replacements{batch, replacements_family_};
    for (const auto* entry : replacements_.in_order()) {
        replacements.add(entry->first, entry->second.row, append_replacement_row);
    }
    pending_tombstones_.write_to(batch);
    return {};
}

std::size_t NotificationFold::changed_rows() const {
    return messages_.changed_rows() + keys_.size() + replacements_.size() +
           pending_tombstones_.changed_rows();
}

void NotificationFold::committed() {
    messages_.committed();
    keys_.committed();
    replacements_.committed();
    pending_tombstones_.committed();
}

void NotificationFold::write_failed() {
    messages_.write_failed();
    keys_.write_failed();
    replacements_.write_failed();
    pending_tombstones_.write_failed();
}

void NotificationFold::reset() {
    messages_.reset();
    keys_.reset();
    replacements_.reset();
    pending_tombstones_.reset();
    postponed_.clear();
    new_tombstones_.clear();
    finished_.clear();
    latest_ = newest_ = {};
    broken_.reset();
    if (auto loaded = pending_tombstones_.load(); !loaded) fail(loaded.error());
}

void PostponedAcks::add(const PendingTombstone& pending, core::Timestamp expiry) {
    const auto at = acks_.insert_or_assign(acks_.end(), pending.put_offset,
                                           Ack{.pending = pending, .expiry = expiry});
    by_name_.insert_or_assign({pending.uaid, pending.key}, at);
}

std::optional<PostponedAcks::Ack> PostponedAcks::take(const KeyName& name) {
    const auto known = by_name_.find(name);
    if (known == by_name_.end()) return std::nullopt;
    const auto at = known->second;
    std::optional<Ack> ack{std::move(at->second)};
    acks_.erase(at);
    by_name_.erase(known);
    return ack;
}

const PostponedAcks::Ack* PostponedAcks::find(const KeyName& name) const {
    const auto known = by_name_.find(name);
    return known == by_name_.end() ? nullptr : &known->second->second;
}

void PostponedAcks::merge_into(std::vector<PendingTombstone>& found,
                               const std::optional<PendingTombstone>& after,
                               std::size_t max) const {
    const auto middle = static_cast<std::ptrdiff_t>(found.size());
    auto ack = after ? acks_.upper_bound(after->put_offset) : acks_.begin();
    for (std::size_t added = 0; added < max && ack != acks_.end(); ++added, ++ack) {
        found.push_back(ack->second.pending);
    }
    std::inplace_merge(found.begin(), found.begin() + middle, found.end(),
                       [](const auto& a, const auto& b) { return a.put_offset < b.put_offset; });
    if (found.size() > max)
        found.erase(found.begin() + static_cast<std::ptrdiff_t>(max), found.end());
}

std::vector<KeyName> PostponedAcks::due(bool all) {
    std::vector<KeyName> names;
    for (auto& [offset, ack] : acks_) {
        if (std::exchange(ack.seen, true) || all)
            names.push_back({ack.pending.uaid, ack.pending.key});
    }
    return names;
}

void PostponedAcks::clear() {
    acks_.clear();
    by_name_.clear();
}

}  // namespace beckon::store
