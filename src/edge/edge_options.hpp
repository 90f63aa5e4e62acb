#pragma once

#include "cluster/cluster.hpp"
#include "edge/edge_config.hpp"
#include "edge/fronts.hpp"
#include "edge/home/home.hpp"
#include "edge/link/links.hpp"

#include <cstdint>
#include <optional>

/// The options of an edge's parts, from its configuration.
namespace beckon::edge {

/// Raises the process's limit of file descriptors, and logs if fewer clients fit than are wanted.
/// Throws std::runtime_error: TLS with a certificate and no key, or the other way round.
FrontsOptions fronts_options(const EdgeConfig& config, const core::NodeId& node);

/// The options of every home, without its partition.
HomeOptions home_options(const EdgeConfig& config, const core::NodeId& node);

link::LinksOptions links_options(const EdgeConfig& config, const core::NodeId& node);

/// `link_port`: the port of the links; nullopt: there are none.
cluster::ClusterOptions cluster_options(const EdgeConfig& config, const core::NodeId& node,
                                        std::optional<std::uint16_t> link_port);

}  // namespace beckon::edge
