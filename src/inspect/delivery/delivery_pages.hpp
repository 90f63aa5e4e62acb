#pragma once

#include "core/key_ring.hpp"
#include "edge/edge.hpp"
#include "ops/ops_server.hpp"

#include <memory>

/// The state of a message at an edge, at the ops port of its process:
///   /delivery/now?message=ID   {"served": bool, "connected": bool, "sent": ms since the epoch or
///                              null}; ID as in the `Location` of a 201
/// 400 where ID is no message of this installation; 401 without `Authorization: Bearer
/// <log_proof()>`.
namespace beckon::inspect {

/// Serves the page for as long as the returned object lives; `edge` outlives it.
[[nodiscard]] ops::Mount mount_delivery_pages(ops::OpsServer& ops, const edge::Edge& edge,
                                              const std::shared_ptr<const core::KeyRing>& keys);

}  // namespace beckon::inspect
