#pragma once

#include "console/canary/canary_stats.hpp"
#include "console/cluster/processes.hpp"
#include "console/lag/status.hpp"
#include "core/clock.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// All that the console knows of the installation at one moment, for its first page. Values.
namespace beckon::console {

struct WebhookFacts {
    struct Failing {
        std::string id;
        std::string origin;  ///< of its receiver
        std::string why;
        std::string owner;
        std::string since = {};  ///< as text; empty: for less than ten attempts
    };
    std::size_t total = 0;
    std::size_t disabled = 0;  ///< by failure, not by a person
    std::vector<Failing> failing = {};
};

struct DeadFacts {
    std::size_t letters = 0;
    std::size_t of_this_hour = 0;  ///< that came within the last hour, or since the console began
};

struct TierFacts {
    std::size_t waiting = 0;
    std::size_t due = 0;
    core::Duration overdue{};
};

struct GroupFacts {
    std::string group;
    Status status = Status::ok;  ///< the worst of its partitions
    Loss loss = Loss::none;
    std::vector<std::string> owners = {};  ///< of the partitions with that status
};

struct Installation {
    bool complete = false;  ///< the log topic `ownership` is read
    bool standalone = false;
    std::vector<ProcessFacts> processes = {};
    std::vector<HomelessFacts> homeless = {};
    std::vector<HotFacts> hot = {};
    std::optional<CanaryFacts> canary = std::nullopt;  ///< none: none is configured
    std::optional<WebhookFacts> webhooks = std::nullopt;
    std::optional<DeadFacts> dead = std::nullopt;
    std::optional<TierFacts> tiers = std::nullopt;
    std::vector<GroupFacts> groups = {};  ///< Beckon's own that are not OK
    std::string lag_problem = {};         ///< why the groups are not known
    std::string log_problem = {};         ///< why the log cannot be read here; empty: it can
};

}  // namespace beckon::console
