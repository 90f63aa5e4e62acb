#pragma once

#include "core/key_ring.hpp"
#include "edge/edge.hpp"
#include "ops/ops_server.hpp"

#include <memory>

/// Broadcasts at the ops port of a process with an edge:
///   /broadcasts/list                            {"complete": bool, "broadcasts": {id: version}}
///   /broadcasts/set?id=ID&version=V&token=T     202: it is being published; list shows when it is
///   /broadcasts/delete?id=ID&token=T            the same
/// 400 names the fault, 401: the token is wrong (`beckon broadcasts token` prints it), 409 that
/// there are too many.
namespace beckon::edge {

/// Serves the pages for as long as the returned object lives; `edge` outlives it.
[[nodiscard]] ops::Mount mount_broadcast_pages(ops::OpsServer& ops, edge::Edge& edge,
                                               std::shared_ptr<const core::KeyRing> keys);

}  // namespace beckon::edge
