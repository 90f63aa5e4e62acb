#pragma once

#include "log/groups.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace beckon::log::kafka {

/// The partitions that a member of a consumer group reads, from the bytes of its assignment
/// (Kafka's consumer protocol, any version: later ones only append). nullopt: the bytes are not
/// one. Pure.
std::optional<std::vector<NamedPartition>> parse_assignment(std::string_view bytes);

}  // namespace beckon::log::kafka
