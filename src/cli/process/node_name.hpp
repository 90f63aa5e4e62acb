#pragma once

#include <filesystem>
#include <string>

namespace beckon::cli {

/// The name of the node whose data directory this is: made at its first start and kept in the file
/// `node-name`. A process that is started again is a new node to the others, and by its name gets
/// the partitions back whose state it has on its disk. What cannot be kept is logged, and the node
/// then has a new name at its next start.
std::string node_name(const std::filesystem::path& data);

}  // namespace beckon::cli
