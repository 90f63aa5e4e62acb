#include "store/open_stores.hpp"

#include "rocks/error.hpp"
#include "store/database.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include <rocksdb/utilities/checkpoint.h>

namespace beckon::store {

namespace {

/// A copy takes the write-ahead files along, however large they are.
constexpr std::uint64_t kNeverFlush = std::numeric_limits<std::uint64_t>::max();

core::Result<void> copy(const Database& database, const std::filesystem::path& to) {
    rocksdb::Checkpoint* made = nullptr;
    auto status = rocksdb::Checkpoint::Create(&database.db(), &made);
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint{made};
    if (status.ok()) status = checkpoint->CreateCheckpoint(to.string(), kNeverFlush);
    if (status.ok()) return {};
    return core::fail(
        rocks::to_error(status, "copy of the store " + database.directory().string()));
}

struct OpenStores {
    std::mutex mutex;
    std::map<std::filesystem::path, const Database*> stores;  ///< under mutex; absolute paths
};

OpenStores& all() {
    static OpenStores stores;
    return stores;
}

}  // namespace

void list_open(const Database& database) {
    const std::scoped_lock lock{all().mutex};
    all().stores[std::filesystem::absolute(database.directory())] = &database;
}

void unlist(const Database& database) {
    const std::scoped_lock lock{all().mutex};
    std::erase_if(all().stores, [&](const auto& item) { return item.second == &database; });
}

core::Result<void> copy_open_store(const std::filesystem::path& directory,
                                   const std::filesystem::path& to) {
    const std::scoped_lock lock{all().mutex};  // it is not closed meanwhile
    const auto found = all().stores.find(std::filesystem::absolute(directory));
    if (found != all().stores.end()) return copy(*found->second, to);
    return core::fail(core::Fault::not_found,
                      "this process has no store open in " + directory.string());
}

}  // namespace beckon::store
