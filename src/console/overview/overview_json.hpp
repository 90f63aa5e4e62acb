#pragma once

#include "console/overview/facts.hpp"
#include "console/overview/history.hpp"
#include "console/overview/verdict.hpp"

#include <cstddef>
#include <string>

/// The pages "status", "overview" and "nodes" as JSON. Pure functions, any thread.
namespace beckon::console {

/// {"level", "sentence", "findings": [{"level", "what", "todo", "section", "page"}, …], "badges":
/// {page: level}}
std::string status_json(const Verdict& verdict);

/// {"now": {…}, "history": …}: the newest numbers and History::json() of the newest `most` points.
std::string overview_json(const Installation& facts, const History& history, std::size_t most);

/// {"complete", "standalone", "processes": [{"role", "name", "version", "gone", "ready",
/// "silent_seconds", "uptime_seconds", "faults", "warnings", "clock_off_seconds",
/// "certificate_seconds", "gauges", "rates", "taken_over": [{"node", "partitions"}, …]}, …]}
std::string nodes_json(const Installation& facts);

}  // namespace beckon::console
