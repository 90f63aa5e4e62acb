#pragma once

#include "core/key_ring.hpp"
#include "edge/edge.hpp"
#include "ops/ops_server.hpp"

#include <memory>

/// The state of a message and of a client at an edge, and its removal, at the ops port of its
/// process:
///   /delivery/now?uaid=UAID&message=KEY
///                              {"served": bool, "connected": bool, "sent": ms since the epoch or
///                              null, "on_earlier_connection": bool, "answered": bool}; KEY: the
///                              message's, in hex
///   /delivery/client?uaid=UAID {"served": bool, "connected": bool, "attached_since": ms or null,
///                              "edge": the node that holds the connection or null, "unanswered":
///                              number of messages, "sent": [{"message": as log lines name it,
///                              "at": ms}, …], the oldest first, at most 100}
///   /delivery/remove?uaid=UAID {"served": bool, "removed": bool}: ends the client with its
///   channels
///                              and messages (docs/personal-data.md)
/// 400 where KEY or UAID is none; 401 without `Authorization:
/// Bearer <log_proof()>`.
namespace beckon::inspect {

/// Serves the page for as long as the returned object lives; `edge` outlives it.
[[nodiscard]] ops::Mount mount_delivery_pages(ops::OpsServer& ops, edge::Edge& edge,
                                              const std::shared_ptr<const core::KeyRing>& keys);

}  // namespace beckon::inspect
