#include "store/edge_store.hpp"

#include "core/assert.hpp"
#include "store/database.hpp"
#include "store/edge_format.hpp"
#include "store/folds/notification_fold.hpp"
#include "store/folds/subscription_fold.hpp"
#include "store/partition_impl.hpp"
#include "store/tables/checkpoint_table.hpp"
#include "store/tables/months.hpp"
#include "store/tables/receipt_table.hpp"
#include "store/tables/stale_write_table.hpp"

#include <mutex>
#include <set>
#include <utility>

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

}  // namespace beckon::store
