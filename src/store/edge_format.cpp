#include "store/edge_format.hpp"

#include "rocks/error.hpp"
#include "rocks/options.hpp"
#include "store/database.hpp"

#include <memory>
#include <string>

#include <rocksdb/db.h>

namespace beckon::store {

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
