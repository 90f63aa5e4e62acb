#pragma once

#include "ops/ops_server.hpp"
#include "reliability/role.hpp"

/// The JSON API of the role `reliability` on the ops port: /reliability/counts, /flow, /days,
/// /report?day=YYYY-MM-DD[&format=md][&from=log] and /history/<id>. docs/reliability.md#api
/// describes it.
namespace beckon::inspect {

/// Serves the pages for as long as the returned object lives; `role` outlives it.
[[nodiscard]] ops::Mount mount_reliability_pages(ops::OpsServer& ops, reliability::Role& role);

}  // namespace beckon::inspect
