#include "reliability/home/partition_rows.hpp"

#include "core/assert.hpp"
#include "core/bytes.hpp"
#include "store/database.hpp"
#include "store/rows/row_bytes.hpp"
#include "store/tables/row_changes.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace beckon::reliability {

using core::append_fixed;

namespace {

using store::slice;

/// The compaction filter leaves shorter keys alone.
constexpr std::size_t kIdBytesMin = 16;
/// Days whose ended messages can be found; a report is kept no longer.
constexpr std::chrono::days kDaysKept{31};

void append_time(std::string& out, Timestamp time) {
    append_fixed(out, static_cast<std::uint64_t>(
                          std::max<std::int64_t>(time.time_since_epoch().count(), 0)));
}

void append_day(std::string& out, Day day) {
    append_fixed(out, static_cast<std::uint32_t>(day.time_since_epoch().count()));
}

std::string history_key(const std::string& prefix, std::string_view id) {
    std::string key = prefix;
    key.append(id);
    if (id.size() < kIdBytesMin) key.append(kIdBytesMin - id.size(), '\0');
    return key;
}

std::string expiry_key(const std::string& prefix, Timestamp expires, std::string_view id) {
    std::string key = prefix;
    append_time(key, expires);
    return key.append(id);
}

std::string ended_key(const std::string& prefix, Day day, std::string_view id) {
    std::string key = prefix;
    append_day(key, day);
    return key.append(id);
}

std::string checkpoint_row(const core::Checkpoint& checkpoint) {
    std::string row;
    append_fixed(row, static_cast<std::uint64_t>(checkpoint.next));
    append_time(row, checkpoint.caught_up);
    append_time(row, checkpoint.youngest);
    return row;
}

std::optional<core::Checkpoint> parse_checkpoint(std::string_view row) {
    store::RowReader reader{row};
    core::Checkpoint checkpoint;
    checkpoint.next = reader.i64();
    checkpoint.caught_up = reader.time();
    checkpoint.youngest = reader.time();
    if (!reader.finished()) return std::nullopt;
    return checkpoint;
}

/// Where a history stands in the two indexes.
struct Places {
    std::optional<Timestamp> expires;  ///< while the message lives
    std::optional<Day> ended;
    bool operator==(const Places&) const = default;
};

Places places_of(const std::optional<History>& history) {
    if (!history || !history->current()) return {};
    if (const auto ended = history->ended()) return {.expires = {}, .ended = day_of(*ended)};
    return {.expires = history->expires(), .ended = {}};
}

}  // namespace

PartitionRows::PartitionRows(store::Database& database, core::Partition partition)
    : database_(database),
      partition_(partition),
      prefix_(store::partition_begin(partition)),
      histories_(database.family(family::kHistories)),
      expiry_(database.family(family::kExpiry)),
      ended_(database.family(family::kEnded)),
      totals_(database.family(family::kTotals)),
      partitions_(database.family(family::kPartitions)) {}

PartitionRows::~PartitionRows() = default;

// --- any thread

core::Result<std::optional<History>> PartitionRows::find(std::string_view id) const {
    return database_.get(histories_, history_key(prefix_, id), History::parse);
}

core::Result<std::vector<std::string>> PartitionRows::ids(const Family& family,
                                                          const store::KeyRange& range,
                                                          std::size_t id_at,
                                                          std::size_t max) const {
    std::vector<std::string> ids;
    const auto read = database_.scan(family, range, [&](std::string_view key, auto) {
        ids.emplace_back(key.substr(id_at));
        return ids.size() < max;
    });
    if (!read) return core::fail(read.error());
    return ids;
}

core::Result<std::vector<std::string>> PartitionRows::expired(Timestamp before,
                                                              std::size_t max) const {
    return ids(expiry_, {prefix_, expiry_key(prefix_, before, {})},
               prefix_.size() + sizeof(std::uint64_t), max);
}

core::Result<std::vector<std::string>> PartitionRows::ended_on(Day day, std::string_view after,
                                                               std::size_t max) const {
    auto from = ended_key(prefix_, day, after);
    if (!after.empty()) from.push_back('\0');
    return ids(ended_, {from, ended_key(prefix_, day + std::chrono::days{1}, {})},
               prefix_.size() + sizeof(std::uint32_t), max);
}

// --- folding thread

std::optional<core::Checkpoint> PartitionRows::checkpoint() const {
    // An unreadable checkpoint counts as none: the partition is folded again from the log's start.
    const auto row = database_.get(partitions_, prefix_, parse_checkpoint);
    return row ? *row : std::nullopt;
}

core::Result<void> PartitionRows::restore(PartitionFold& fold) const {
    const auto parse = [&](std::string_view key, std::string_view row) {
        const bool known = fold.totals().restore(key.substr(prefix_.size()), row);
        return known ? std::optional{known} : std::nullopt;
    };
    return database_.each_row(totals_, store::partition_range(partition_), parse,
                              [](bool go_on) { return go_on; });
}

void PartitionRows::put(rocksdb::WriteBatch& batch, const std::string& id,
                        const PartitionFold::Change& change) const {
    std::string row;
    change.after.append_to(row);
    batch.Put(histories_.get(), slice(history_key(prefix_, id)), slice(row));
    const auto before = places_of(change.before);
    const auto after = places_of(change.after);
    if (before == after) return;
    if (before.expires) {
        batch.Delete(expiry_.get(), slice(expiry_key(prefix_, *before.expires, id)));
    }
    if (before.ended) batch.Delete(ended_.get(), slice(ended_key(prefix_, *before.ended, id)));
    if (after.expires) {
        batch.Put(expiry_.get(), slice(expiry_key(prefix_, *after.expires, id)), {});
    }
    if (after.ended) batch.Put(ended_.get(), slice(ended_key(prefix_, *after.ended, id)), {});
}

void PartitionRows::forget_old_days(rocksdb::WriteBatch& batch, Timestamp now) const {
    batch.DeleteRange(ended_.get(), slice(ended_key(prefix_, Day{}, {})),
                      slice(ended_key(prefix_, day_of(now) - kDaysKept, {})));
}

core::Result<void> PartitionRows::commit(PartitionFold& fold, const core::Checkpoint& checkpoint) {
    if (fold.broken()) return core::fail(*fold.broken());
    rocksdb::WriteBatch batch;
    Timestamp newest{};
    for (const auto* const entry : store::sorted_by_name(fold.changes())) {
        const auto& [id, change] = *entry;
        if (!change.after.current()) continue;  // everything about it was refused
        put(batch, id, change);
        newest = std::max(newest, change.after.changed());
    }
    for (const auto& [name, bytes] : fold.totals().changed_rows()) {
        const auto key = prefix_ + name;
        if (bytes) batch.Put(totals_.get(), slice(key), slice(*bytes));
        if (!bytes) batch.Delete(totals_.get(), slice(key));
    }
    batch.Put(partitions_.get(), slice(prefix_), slice(checkpoint_row(checkpoint)));
    const bool new_day = newest > Timestamp{kDaysKept} && newest_day_ != day_of(newest);
    if (new_day) forget_old_days(batch, newest);
    if (auto written = database_.write(batch); !written) return written;
    if (new_day) newest_day_ = day_of(newest);
    fold_time_ = std::max({fold_time_, newest, checkpoint.caught_up});
    database_.fold_times().set(partition_, fold_time_);
    fold.committed();
    return {};
}

core::Result<void> PartitionRows::clear() {
    rocksdb::WriteBatch batch;
    for (const auto& family : {histories_, expiry_, ended_, totals_, partitions_}) {
        database_.erase_rows_of(partition_, family, batch);
    }
    fold_time_ = {};
    database_.fold_times().forget(partition_);
    return database_.write(batch);
}

MilestoneStore::MilestoneStore(std::unique_ptr<store::Database> database)
    : database_(std::move(database)) {}

MilestoneStore::~MilestoneStore() = default;

std::unique_ptr<PartitionRows> MilestoneStore::partition(core::Partition partition) {
    return std::make_unique<PartitionRows>(*database_, partition);
}

core::Result<std::unique_ptr<MilestoneStore>> MilestoneStore::open(
    const MilestoneStoreOptions& options) {
    BECKON_ASSERT(options.partitions >= 1, "a log has at least one partition");
    store::DatabaseOptions settings;
    settings.directory = options.directory;
    settings.log_id = options.log_id;
    settings.format = "reliability/2/" + std::to_string(options.partitions);
    for (const auto* name : family::kAll) {
        const bool histories = std::string_view{name} == family::kHistories;
        settings.families.push_back(
            {name, histories ? store::FamilyKind::keys : store::FamilyKind::plain});
    }
    settings.memory = options.memory;
    auto database = store::Database::open(settings);
    if (!database) return core::fail(database.error());
    return std::unique_ptr<MilestoneStore>{new MilestoneStore{std::move(*database)}};
}

}  // namespace beckon::reliability
