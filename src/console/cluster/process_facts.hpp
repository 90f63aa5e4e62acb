#pragma once

#include "core/clock.hpp"
#include "records/process.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The facts about processes and partitions that people see, from `ownership`. Values.
namespace beckon::console {

struct ProcessFacts {
    std::string role;
    std::string name;  ///< of its host, with the port where several are on one
    std::string id = {};
    std::string version = {};
    bool gone = false;
    bool ready = true;
    core::Duration silent{};
    core::Duration uptime{};
    std::vector<std::string> faults = {};
    std::vector<std::string> warnings = {};
    /// By how much its host's clock is ahead of the log's; negative: behind.
    std::optional<core::Duration> clock_off = std::nullopt;
    /// Until the first of its certificates expires; negative: it has expired.
    std::optional<core::Duration> certificate_left = std::nullopt;
    std::map<std::string, double> gauges = {};
    std::map<std::string, double> rates = {};  ///< of its counters, per second
    /// The nodes that have taken its partitions over, with how many.
    std::vector<std::pair<std::string, std::size_t>> taken_over = {};
};

/// POSTs to one endpoint URL that an endpoint refused of late, for one reason.
struct RefusedFacts {
    std::string by;  ///< the endpoint, as a person names it
    cluster::RefusedSend send;
};

struct HomelessFacts {
    std::string role;
    std::vector<int> partitions;  ///< without a home that serves them
};

/// A partition that gets several times the records of the others (cluster/overview.hpp).
struct HotFacts {
    std::string role;
    int partition = 0;
    std::string home;        ///< the node, as a person names it
    std::uint64_t load = 0;  ///< records per second
};

}  // namespace beckon::console
