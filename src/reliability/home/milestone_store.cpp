#include "reliability/home/milestone_store.hpp"

#include "core/assert.hpp"
#include "store/database.hpp"

#include <string_view>
#include <utility>

namespace beckon::reliability {

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
