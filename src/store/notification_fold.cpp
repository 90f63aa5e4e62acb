#include "store/notification_fold.hpp"

#include "core/assert.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace beckon::store {

namespace {

/// Finished keys are remembered for ten minutes (DESIGN §3); one more, so that a tombstone which is
/// read back soon after the decision need not write the row again.
constexpr std::chrono::minutes kRemember{10};
constexpr std::chrono::minutes kRememberWritten = kRemember + std::chrono::minutes{1};

/// Nobody takes new debts while a partition is restored or stands by; beyond this many they are
/// read from the table when somebody does.
constexpr std::size_t kNewDebtsMax = 10'000;

void sort_by_offset(std::vector<Debt>& debts) {
    std::sort(debts.begin(), debts.end(), [](const Debt& a, const Debt& b) {
        return std::tie(a.put_offset, a.key) < std::tie(b.put_offset, b.key);
    });
}

}  // namespace

NotificationFold::NotificationFold(Database& database, Months& months, core::Partition partition,
                                   rocksdb::WriteBatch& batch)
    : database_(database),
      partition_(partition),
      batch_(batch),
      keys_family_(database.family("keys")),
      replacements_family_(database.family("replacements")),
      owed_family_(database.family("owed")),
      messages_(database, months, partition, batch) {}

std::vector<FamilySpec> NotificationFold::families() {
    return {
        {"keys", FamilyKind::keys}, {"replacements", FamilyKind::rows}, {"owed", FamilyKind::rows}};
}

void NotificationFold::fail(core::Error error) {
    if (!broken_) broken_ = std::move(error);
}

// --- rows, the batch's own first

template <class Parse>
auto NotificationFold::read_row(const Family& family, std::string_view row_key, Parse parse)
    -> decltype(parse(std::string_view{})) {
    rocksdb::PinnableSlice value;
    const auto status = database_.db().Get({}, family.get(), slice(row_key), &value);
    if (status.IsNotFound()) return std::nullopt;
    const std::string what = "store " + database_.directory().string();
    if (!status.ok()) {
        auto error = to_error(status, what);
        error.fault = core::Fault::corrupt;
        fail(std::move(error));
        return std::nullopt;
    }
    auto row = parse(view(value));
    if (!row)
        fail({core::Fault::corrupt, what + ": a row of " + family->GetName() +
                                        " does not decode; delete it and it is rebuilt"});
    return row;
}

std::optional<KeyRow> NotificationFold::key_row(const core::Uaid& uaid,
                                                const core::MessageKey& key) {
    if (const KeyRow* row = keys_.find(uaid, key)) return *row;
    return read_row(keys_family_, key_row_key(partition_, uaid, key).view(), parse_key_row);
}

void NotificationFold::write_key_row(const core::Uaid& uaid, const core::MessageKey& key,
                                     KeyRow row) {
    scratch_.clear();
    append_key_row(scratch_, row);
    batch_.Put(keys_family_.get(), slice(key_row_key(partition_, uaid, key).view()),
               slice(scratch_));
    keys_.store(uaid, key, std::move(row));
}

void NotificationFold::write_done(const core::Uaid& uaid, const core::MessageKey& key,
                                  core::Offset offset, core::Timestamp since) {
    write_key_row(uaid, key,
                  {.state = KeyRow::State::done,
                   .offset = offset,
                   .until = since + kRememberWritten,
                   .slot = {}});
}

std::optional<ReplacementRow> NotificationFold::replacement_row(const std::string& row_key) {
    const auto known = replacements_.find(row_key);
    if (known != replacements_.end()) return known->second;
    return read_row(replacements_family_, row_key, parse_replacement_row);
}

void NotificationFold::write_replacement(const std::string& row_key, const ReplacementRow& row) {
    scratch_.clear();
    append_replacement_row(scratch_, row);
    batch_.Put(replacements_family_.get(), slice(row_key), slice(scratch_));
    replacements_.insert_or_assign(row_key, row);
}

void NotificationFold::erase_replacement(const std::string& row_key) {
    batch_.Delete(replacements_family_.get(), slice(row_key));
    replacements_.insert_or_assign(row_key, std::nullopt);
}

void NotificationFold::take_from_pending(const core::Uaid& uaid, const KeyRow& row) {
    messages_.remove(uaid, row.order(), row.until);
    if (row.slot.empty()) return;
    erase_replacement(replacement_row_key(partition_, uaid, row.slot));
}

void NotificationFold::add_debt(Debt debt) {
    scratch_.clear();
    append_debt(scratch_, debt);
    batch_.Put(owed_family_.get(), slice(key_row_key(partition_, debt.uaid, debt.key).view()),
               slice(scratch_));
    debt_changes_.push_back({.debt = debt, .paid = false});
    new_debts_.insert_or_assign(debt.key, debt);
    if (new_debts_.size() <= kNewDebtsMax) return;
    new_debts_.clear();
    new_debts_overflowed_ = true;
}

void NotificationFold::pay_debt(const core::Uaid& uaid, const core::MessageKey& key) {
    batch_.Delete(owed_family_.get(), slice(key_row_key(partition_, uaid, key).view()));
    debt_changes_.push_back({.debt = {.uaid = uaid, .key = key}, .paid = true});
    if (!new_debts_.empty()) new_debts_.erase(key);
}

// --- the fold

PutOutcome NotificationFold::put(core::Offset offset, core::Timestamp appended,
                                 const core::NotificationAccepted& message,
                                 std::optional<core::MessageKey>* replaced) {
    BECKON_ASSERT(!handing_over_, "a sink must not call the store");
    if (replaced) replaced->reset();
    raise_latest(appended);
    if (const auto row = key_row(message.uaid, message.key)) {
        const bool pending = row->state == KeyRow::State::pending;
        if (pending || row->offset >= offset) return PutOutcome::repeated;
        if (appended < row->until) {
            write_done(message.uaid, message.key, offset, appended);
            add_debt({.uaid = message.uaid,
                      .key = message.key,
                      .reason = core::FinishReason::dropped,
                      .put_offset = offset});
            return PutOutcome::finished;
        }
    }

    const auto ttl = std::min<std::chrono::seconds>(std::chrono::seconds{message.ttl_s}, kTtlMax);
    const core::Timestamp expiry = appended + ttl;
    KeyRow row{.state = KeyRow::State::pending, .offset = offset, .until = expiry, .slot = {}};
    std::string slot_row_key;
    if (message.topic && !message.topic->empty()) {
        row.slot = replacement_slot(message.channel, *message.topic);
        slot_row_key = replacement_row_key(partition_, message.uaid, row.slot);
        if (take_slot(offset, appended, message, slot_row_key, replaced) == Slot::taken_by_newer) {
            return PutOutcome::finished;
        }
    }
    if (ttl == ttl.zero()) {
        write_done(message.uaid, message.key, offset, appended);
        add_debt({.uaid = message.uaid,
                  .key = message.key,
                  .reason = core::FinishReason::expired,
                  .put_offset = offset});
        return PutOutcome::ttl_zero;
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
    if (!messages_.put(message.uaid, row.order(), stored)) return PutOutcome::expired;
    if (!slot_row_key.empty()) {
        write_replacement(slot_row_key, {.offset = offset, .expiry = expiry, .key = message.key});
    }
    write_key_row(message.uaid, message.key, std::move(row));
    return PutOutcome::pending;
}

/// Makes room for a Topic message: the one that holds the slot is done with.
NotificationFold::Slot NotificationFold::take_slot(core::Offset offset, core::Timestamp appended,
                                                   const core::NotificationAccepted& message,
                                                   const std::string& row_key,
                                                   std::optional<core::MessageKey>* replaced) {
    const auto holder = replacement_row(row_key);
    if (!holder) return Slot::free;
    if (holder->offset > offset) {
        write_done(message.uaid, message.key, offset, appended);
        add_debt({.uaid = message.uaid,
                  .key = message.key,
                  .reason = core::FinishReason::replaced,
                  .put_offset = offset});
        return Slot::taken_by_newer;
    }
    const MessageOrder order{.has_topic = true, .offset = holder->offset};
    messages_.remove(message.uaid, order, holder->expiry);
    erase_replacement(row_key);
    write_done(message.uaid, holder->key, holder->offset, appended);
    if (replaced) *replaced = holder->key;
    // What had expired may be gone from the store already; so no copy owes anything for it.
    if (appended < holder->expiry) {
        add_debt({.uaid = message.uaid,
                  .key = holder->key,
                  .reason = core::FinishReason::replaced,
                  .put_offset = holder->offset});
    }
    return Slot::free;
}

bool NotificationFold::finish(const core::Uaid& uaid, const core::MessageKey& key,
                              core::Timestamp time) {
    BECKON_ASSERT(!handing_over_, "a sink must not call the store");
    raise_latest(time);
    const auto row = key_row(uaid, key);
    if (!row) {
        write_done(uaid, key, -1, time);
        return false;
    }
    if (row->state == KeyRow::State::pending) {
        take_from_pending(uaid, *row);
        write_done(uaid, key, row->offset, time);
        return true;
    }
    pay_debt(uaid, key);
    if (row->until < time + kRemember) write_done(uaid, key, row->offset, time);
    return row->offset >= 0;
}

bool NotificationFold::owe(const core::Uaid& uaid, const core::MessageKey& key,
                           core::FinishReason reason) {
    BECKON_ASSERT(!handing_over_, "a sink must not call the store");
    const auto row = key_row(uaid, key);
    if (!row || row->state != KeyRow::State::pending) return false;
    take_from_pending(uaid, *row);
    write_done(uaid, key, row->offset, latest_);
    add_debt({.uaid = uaid, .key = key, .reason = reason, .put_offset = row->offset});
    return true;
}

// --- reads

ReadOutcome NotificationFold::read_pending(const core::Uaid& uaid, DrainCursor& cursor,
                                           std::size_t max, core::Timestamp now,
                                           const std::function<void(const MessageView&)>& sink) {
    using Next = MessageTable::Next;
    BECKON_ASSERT(!handing_over_, "a sink must not call the store");
    ReadOutcome outcome;
    std::vector<core::MessageKey> expired;
    bool more = false;
    handing_over_ = true;
    const auto visit = [&](MessageOrder order, std::string_view value) {
        if (order.offset >= cursor.until) return order.has_topic ? Next::skip_topics : Next::stop;
        if (outcome.messages == max || expired.size() == PartitionStore::kSkipMax) {
            more = true;
            return Next::stop;
        }
        cursor.topics = order.has_topic;
        cursor.after = order.offset;
        const auto key = message_row_key(partition_, uaid, order);
        const auto message = parse_message(key.view(), value);
        if (!message) {
            fail({core::Fault::corrupt, "store " + database_.directory().string() +
                                            ": a message does not decode; delete it and it is "
                                            "rebuilt from the log"});
            return Next::stop;
        }
        if (now >= message->expiry) {
            expired.push_back(message->key);
        } else {
            sink(*message);
            ++outcome.messages;
        }
        return Next::go_on;
    };
    const auto scanned =
        messages_.scan(uaid, {.has_topic = cursor.topics, .offset = cursor.after + 1}, visit);
    handing_over_ = false;
    if (!scanned) fail(scanned.error());
    for (const auto& key : expired) owe(uaid, key, core::FinishReason::expired);
    outcome.done = !more;
    if (outcome.done) cursor = {.topics = false, .after = cursor.until, .until = cursor.until};
    return outcome;
}

std::size_t NotificationFold::pending_count(const core::Uaid& uaid, std::size_t at_most) {
    std::size_t count = 0;
    const auto scanned =
        messages_.scan(uaid, {.has_topic = true, .offset = 0}, [&](MessageOrder, std::string_view) {
            if (count == at_most) return MessageTable::Next::stop;
            ++count;
            return MessageTable::Next::go_on;
        });
    if (!scanned) fail(scanned.error());
    return count;
}

std::vector<Debt> NotificationFold::debts() {
    std::unordered_map<core::MessageKey, Debt> found;
    const std::string begin = partition_begin(partition_);
    const std::string end = partition_begin(partition_ + 1);
    const rocksdb::Slice bound = slice(end);
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    options.iterate_upper_bound = &bound;
    const std::unique_ptr<rocksdb::Iterator> it{
        database_.db().NewIterator(options, owed_family_.get())};
    for (it->Seek(slice(begin)); it->Valid(); it->Next()) {
        const auto debt = parse_debt(view(it->key()), view(it->value()));
        if (debt) found.insert_or_assign(debt->key, *debt);
    }
    if (!it->status().ok()) {
        auto error = to_error(it->status(), "store " + database_.directory().string());
        error.fault = core::Fault::corrupt;
        fail(std::move(error));
    }
    for (const auto& change : debt_changes_) {
        if (change.paid) {
            found.erase(change.debt.key);
        } else {
            found.insert_or_assign(change.debt.key, change.debt);
        }
    }
    std::vector<Debt> all;
    all.reserve(found.size());
    for (const auto& [key, debt] : found) all.push_back(debt);
    sort_by_offset(all);
    new_debts_.clear();
    new_debts_overflowed_ = false;
    return all;
}

std::vector<Debt> NotificationFold::take_new_debts() {
    if (new_debts_overflowed_) return debts();
    std::vector<Debt> taken;
    if (new_debts_.empty()) return taken;
    taken.reserve(new_debts_.size());
    for (const auto& [key, debt] : new_debts_) taken.push_back(debt);
    new_debts_.clear();
    sort_by_offset(taken);
    return taken;
}

void NotificationFold::committed() {
    keys_.committed();
    replacements_.clear();
    debt_changes_.clear();
    messages_.forget_batch();
}

void NotificationFold::reset() {
    committed();
    keys_.clear();
    new_debts_.clear();
    new_debts_overflowed_ = false;
    latest_ = {};
    broken_.reset();
}

}  // namespace beckon::store
