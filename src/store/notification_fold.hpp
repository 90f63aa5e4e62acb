#pragma once

#include "core/events.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "store/database.hpp"
#include "store/edge_store.hpp"
#include "store/key_cache.hpp"
#include "store/message_table.hpp"
#include "store/schema.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <rocksdb/write_batch.h>

namespace beckon::store {

/// The fold of one partition of `notifications`, and what a home decides about messages. Writes go
/// to the caller's batch, and reads here see them until forget_batch(). One thread.
///
/// Invariants. A `keys` row is pending exactly while the message waits in its month's family; a
/// `replacements` row names the one pending message of its channel and Topic; an `owed` row's key
/// is done. (Rows whose time is over may be missing: the compaction filter takes each by itself.)
class NotificationFold {
public:
    NotificationFold(Database& database, Months& months, core::Partition partition,
                     rocksdb::WriteBatch& batch);
    static std::vector<FamilySpec> families();

    PutOutcome put(core::Offset offset, core::Timestamp appended,
                   const core::NotificationAccepted& message,
                   std::optional<core::MessageKey>* replaced);
    bool finish(const core::Uaid& uaid, const core::MessageKey& key, core::Timestamp time);
    bool owe(const core::Uaid& uaid, const core::MessageKey& key, core::FinishReason reason);

    ReadOutcome read_pending(const core::Uaid& uaid, DrainCursor& cursor, std::size_t max,
                             core::Timestamp now,
                             const std::function<void(const MessageView&)>& sink);
    std::size_t pending_count(const core::Uaid& uaid, std::size_t at_most);
    std::vector<Debt> debts();
    std::vector<Debt> take_new_debts();

    /// The greatest append time folded; the log time that decisions are remembered at.
    core::Timestamp latest() const { return latest_; }
    void raise_latest(core::Timestamp time) { latest_ = std::max(latest_, time); }

    core::Result<void> complete_batch() { return messages_.complete_batch(); }
    /// The batch is on disk.
    void committed();
    /// The batch and all that this knows of the tables is void.
    void reset();

    const std::optional<core::Error>& broken() const { return broken_; }

private:
    /// A debt that arose (`reason`) or was paid (none) in the batch.
    struct DebtChange {
        Debt debt;
        bool paid = false;
    };

    std::optional<KeyRow> key_row(const core::Uaid& uaid, const core::MessageKey& key);
    void write_key_row(const core::Uaid& uaid, const core::MessageKey& key, KeyRow row);
    void write_done(const core::Uaid& uaid, const core::MessageKey& key, core::Offset offset,
                    core::Timestamp since);
    std::optional<ReplacementRow> replacement_row(const std::string& row_key);
    void write_replacement(const std::string& row_key, const ReplacementRow& row);
    void erase_replacement(const std::string& row_key);
    void take_from_pending(const core::Uaid& uaid, const KeyRow& row);
    void add_debt(Debt debt);
    void pay_debt(const core::Uaid& uaid, const core::MessageKey& key);

    enum class Slot { free, taken_by_newer };
    Slot take_slot(core::Offset offset, core::Timestamp appended,
                   const core::NotificationAccepted& message, const std::string& row_key,
                   std::optional<core::MessageKey>* replaced);
    void fail(core::Error error);
    template <class Parse>
    auto read_row(const Family& family, std::string_view row_key, Parse parse)
        -> decltype(parse(std::string_view{}));

    Database& database_;
    const core::Partition partition_;
    rocksdb::WriteBatch& batch_;
    const Family keys_family_;
    const Family replacements_family_;
    const Family owed_family_;
    MessageTable messages_;

    KeyCache keys_;
    std::unordered_map<std::string, std::optional<ReplacementRow>> replacements_;  ///< of the batch
    std::vector<DebtChange> debt_changes_;                                         ///< of the batch
    std::unordered_map<core::MessageKey, Debt> new_debts_;  ///< since take_new_debts()
    bool new_debts_overflowed_ = false;
    bool handing_over_ = false;  ///< a sink runs
    core::Timestamp latest_{};
    std::optional<core::Error> broken_;
    std::string scratch_;
};

}  // namespace beckon::store
