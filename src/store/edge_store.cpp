#include "store/edge_store.hpp"

#include "core/assert.hpp"
#include "store/database.hpp"
#include "store/months.hpp"
#include "store/notification_fold.hpp"
#include "store/partition_store.hpp"
#include "store/subscription_fold.hpp"

#include <mutex>
#include <set>
#include <utility>

namespace beckon::store {

namespace {

/// Kind and version of the rows (schema.hpp), and the layout of the message families. Count up with
/// every change that an older build would read wrongly: such a store is set aside and rebuilt.
std::string format_of(const EdgeStoreOptions& options) {
    return std::string{"edge/1/"} + (options.rotation == Rotation::monthly ? "monthly" : "all");
}

class EdgeStoreImpl final : public EdgeStore {
public:
    EdgeStoreImpl(std::unique_ptr<Database> database, Rotation rotation)
        : database_(std::move(database)),
          months_(*database_, rotation),
          subscriptions_(*database_) {}
    ~EdgeStoreImpl() override {
        BECKON_ASSERT(open_.empty(), "partitions are closed before their store");
    }

    std::unique_ptr<PartitionStore> open_partition(core::Partition partition) override {
        {
            const std::scoped_lock lock{mutex_};
            BECKON_ASSERT(open_.insert(partition).second, "a partition has one owner");
        }
        return make_partition_store({*database_, months_, subscriptions_}, partition,
                                    [this, partition] {
                                        const std::scoped_lock lock{mutex_};
                                        open_.erase(partition);
                                    });
    }

    std::vector<std::string> drop_past_months(core::Timestamp log_now,
                                              core::Timestamp host_now) override {
        return months_.drop_past(log_now, host_now);
    }

private:
    const std::unique_ptr<Database> database_;
    Months months_;
    const SubscriptionTables subscriptions_;
    std::mutex mutex_;                ///< guards open_
    std::set<core::Partition> open_;  ///< which have an owner
};

}  // namespace

core::Result<std::unique_ptr<EdgeStore>> open_edge_store(const EdgeStoreOptions& options) {
    auto families = NotificationFold::families();
    for (auto& spec : SubscriptionTables::families()) families.push_back(std::move(spec));
    families.push_back({"partitions", FamilyKind::plain});

    DatabaseOptions settings;
    settings.directory = options.directory;
    settings.log_id = options.log_id;
    settings.format = format_of(options);
    settings.families = std::move(families);
    settings.kind_of = [](std::string_view name) -> std::optional<FamilyKind> {
        if (parse_month_family_name(name)) return FamilyKind::messages;
        return std::nullopt;
    };
    settings.memory = options.memory ? options.memory
                                     : std::make_shared<rocks::Memory>(options.cache_bytes,
                                                                       options.write_buffer_bytes);
    auto database = Database::open(settings);
    if (!database) return core::fail(database.error());
    return std::unique_ptr<EdgeStore>{
        std::make_unique<EdgeStoreImpl>(std::move(*database), options.rotation)};
}

}  // namespace beckon::store
