#include "store/edge_store.hpp"

#include "core/assert.hpp"
#include "rocks/error.hpp"
#include "rocks/options.hpp"
#include "store/database.hpp"
#include "store/folds/notification_fold.hpp"
#include "store/folds/subscription_fold.hpp"
#include "store/partition_impl.hpp"
#include "store/rows/schema.hpp"
#include "store/tables/checkpoint_table.hpp"
#include "store/tables/months.hpp"
#include "store/tables/receipt_table.hpp"
#include "store/tables/stale_write_table.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>

namespace beckon::store {

struct EdgeStore::Impl {
    Impl(std::unique_ptr<Database> opened, CheckpointTable read, Rotation rotation)
        : database(std::move(opened)),
          months(*database, rotation),
          checkpoints(std::move(read)),
          subscriptions(*database) {}

    const std::unique_ptr<Database> database;
    Months months;
    CheckpointTable checkpoints;
    const SubscriptionTables subscriptions;
    std::mutex mutex;                ///< guards open
    std::set<core::Partition> open;  ///< which have an owner
};

EdgeStore::EdgeStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EdgeStore::~EdgeStore() {
    BECKON_ASSERT(impl_->open.empty(), "partitions are closed before their store");
}

std::unique_ptr<PartitionStore> EdgeStore::open_partition(core::Partition partition) {
    auto& impl = *impl_;
    {
        const std::scoped_lock lock{impl.mutex};
        BECKON_ASSERT(impl.open.insert(partition).second, "a partition has one owner");
    }
    const auto closed = [&impl, partition] {
        const std::scoped_lock lock{impl.mutex};
        impl.open.erase(partition);
    };
    return std::unique_ptr<PartitionStore>{
        new PartitionStore{std::make_unique<PartitionStore::Impl>(
            EdgeTables{*impl.database, impl.months, impl.checkpoints, impl.subscriptions},
            partition, closed)}};
}

std::vector<std::string> EdgeStore::drop_past_months(core::Timestamp log_now,
                                                     core::Timestamp host_now) {
    return impl_->months.drop_past(log_now, host_now);
}

std::string EdgeStore::needs_restart() const { return impl_->database->needs_restart(); }

WaitingCount EdgeStore::count_waiting(core::Partition partition, core::Timestamp now) const {
    return {*impl_->database, impl_->months, partition, now};
}

core::Result<std::unique_ptr<EdgeStore>> EdgeStore::open(const EdgeStoreOptions& options) {
    auto families = NotificationFold::families();
    for (auto& spec : SubscriptionTables::families()) families.push_back(std::move(spec));
    families.push_back(CheckpointTable::family_spec());
    families.push_back(StaleWriteTable::family_spec());
    families.push_back(ReceiptTable::family_spec());

    DatabaseOptions settings;
    settings.directory = options.directory;
    settings.log_id = options.log_id;
    settings.format = format_of(options.rotation);
    settings.families = std::move(families);
    settings.kind_of = [](std::string_view name) -> std::optional<FamilyKind> {
        if (parse_message_family_name(name)) return FamilyKind::messages;
        return std::nullopt;
    };
    settings.env = options.env;
    settings.check = CheckpointTable::check;
    settings.memory = options.memory ? options.memory
                                     : std::make_shared<rocks::Memory>(options.cache_bytes,
                                                                       options.write_buffer_bytes);
    auto database = Database::open(settings);
    if (!database) return core::fail(database.error());
    auto checkpoints = CheckpointTable::read(**database);
    if (!checkpoints) return core::fail(checkpoints.error());
    return std::unique_ptr<EdgeStore>{new EdgeStore{
        std::make_unique<Impl>(std::move(*database), std::move(*checkpoints), options.rotation)}};
}

namespace {

/// Counts the rows that RocksDB steps over on this thread while this object lives: deleted and not
/// compacted yet.
class DeletedRows {
public:
    DeletedRows() : level_(rocksdb::GetPerfLevel()) {
        rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
        before_ = now();
    }
    ~DeletedRows() { rocksdb::SetPerfLevel(level_); }
    DeletedRows(const DeletedRows&) = delete;
    DeletedRows& operator=(const DeletedRows&) = delete;

    std::uint64_t count() const { return now() - before_; }

private:
    static std::uint64_t now() {
        return rocksdb::get_perf_context()->internal_delete_skipped_count;
    }

    const rocksdb::PerfLevel level_;
    std::uint64_t before_ = 0;
};

}  // namespace

WaitingCount::WaitingCount(Database& database, const Months& months, core::Partition partition,
                           core::Timestamp now)
    : database_(database),
      months_(months),
      partition_(partition),
      now_(now),
      next_(partition_begin(partition)) {}

core::Result<bool> WaitingCount::step(std::size_t rows_max) {
    const auto family = database_.family("keys");
    const auto all = partition_range(partition_);
    const auto end = slice(all.end);
    auto options = scan_options(end);
    options.max_skippable_internal_keys = rows_max;
    const std::unique_ptr<rocksdb::Iterator> row{database_.db().NewIterator(options, family.get())};
    const DeletedRows deleted;
    row->Seek(slice(next_));
    for (std::size_t seen = 0; row->Valid() && seen + deleted.count() < rows_max;
         ++seen, row->Next()) {
        const auto parsed = parse_key_row(view(row->value()));
        if (!parsed) return core::fail(undecodable("keys", database_.directory().string()));
        count_row(view(row->key()), *parsed);
    }
    if (row->Valid()) next_ = view(row->key());
    if (row->status().IsIncomplete()) return go_on_behind_deleted(*row);
    if (!row->status().ok()) {
        return core::fail(unreadable(row->status(), database_.directory().string()));
    }
    return !row->Valid();
}

/// RocksDB has stepped over as many deleted rows as it may, and reports where it stopped: the next
/// piece begins right behind that.
core::Result<bool> WaitingCount::go_on_behind_deleted(rocksdb::Iterator& row) {
    const auto found = row.GetProperty("rocksdb.iterator.internal-key", &next_);
    if (!found.ok()) return core::fail(unreadable(found, database_.directory().string()));
    next_.push_back('\0');
    return false;
}

void WaitingCount::count_row(std::string_view row_key, const KeyRow& row) {
    if (row.state != KeyRow::State::pending || row.until <= now_) return;
    ++messages_;
    if (oldest_ && oldest_->order.offset <= row.offset) return;
    oldest_ = {uaid_of_row(row_key), row.order(), row.until};
}

core::Result<std::optional<core::Timestamp>> WaitingCount::oldest() const {
    if (!oldest_) return std::nullopt;
    const auto list = months_.list();
    const auto month = std::find_if(list->begin(), list->end(), [&](const MonthFamily& candidate) {
        return candidate.month == months_.bucket(oldest_->expiry);
    });
    if (month == list->end()) return std::nullopt;
    return database_.get(month->family,
                         message_row_key(partition_, oldest_->uaid, oldest_->order).view(),
                         [this](std::string_view value) -> std::optional<core::Timestamp> {
                             const auto message = parse_message(oldest_->order, value);
                             if (!message) return std::nullopt;
                             return message->appended;
                         });
}

namespace {

constexpr std::size_t kCacheBytes = 1U << 20;  ///< one row is read

core::Result<std::string> stored_format(const std::filesystem::path& directory) {
    const auto options =
        rocks::db_options({.folder = "store",
                           .directory = directory,
                           .memory = std::make_shared<rocks::Memory>(kCacheBytes, kCacheBytes),
                           .env = nullptr});
    rocksdb::DB* opened = nullptr;
    auto status = rocksdb::DB::OpenForReadOnly({options, {}}, directory.string(), &opened);
    const std::unique_ptr<rocksdb::DB> database{opened};
    std::string format;
    if (status.ok()) {
        const rocksdb::Slice row{kFormatRow.data(), kFormatRow.size()};
        status = database->Get({}, row, &format);
    }
    if (status.ok() || status.IsNotFound()) return format;
    return core::fail(rocks::to_error(status, "store " + directory.string()));
}

}  // namespace

std::string_view format_of(Rotation rotation) {
    switch (rotation) {
        case Rotation::monthly: return "edge/4/monthly";
        case Rotation::daily: return "edge/4/daily";
        case Rotation::off: break;
    }
    return "edge/4/all";
}

core::Result<Rotation> stored_rotation(const std::filesystem::path& directory) {
    const auto format = stored_format(directory);
    if (!format) return core::fail(format.error());
    for (const auto rotation : {Rotation::monthly, Rotation::daily, Rotation::off}) {
        if (*format == format_of(rotation)) return rotation;
    }
    return core::fail(core::Fault::corrupt, "store " + directory.string() + " has the format '" +
                                                *format + "', which this build does not read");
}

}  // namespace beckon::store
