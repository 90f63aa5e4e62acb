#pragma once

#include <filesystem>
#include <string>

namespace beckon::app {

/// The name of the node whose data directory this is: made at its first start and kept in the file
/// `node-name`. A restarted process is a new node to the others; through its name it gets back the
/// partitions whose state is on its disk. A name that cannot be written is logged, and the node has
/// a new name at its next start.
std::string node_name(const std::filesystem::path& data);

}  // namespace beckon::app
