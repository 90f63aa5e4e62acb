#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "ops/health.hpp"
#include "ops/metrics.hpp"
#include "reliability/history/history.hpp"
#include "reliability/totals/report.hpp"
#include "rocks/memory.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::reliability {

class TotalsView;

struct RoleConfig {
    core::NodeId node;
    std::string node_name{};  ///< placement uses it; empty: uses `node`
    std::string log_id;
    core::Partition partitions = 0;
    std::filesystem::path store_directory;
    std::shared_ptr<rocks::Memory> store_memory;
    /// Whether the process is ready only when this role is. Beside the roles that deliver, it does
    /// not delay the process's readiness.
    bool decides_readiness = true;
};

/// The role `reliability`: folds the partitions of `reliability` that are placed here into
/// histories and sums, expires, and publishes counts and reports in `reliability.totals`. It has a
/// thread of its own; the rest may be called from any.
class Role {
public:
    /// Throws std::runtime_error if its store cannot be opened.
    Role(RoleConfig config, log::EventLog& log, const core::Clock& clock, ops::Metrics& metrics,
         ops::Health& health);
    ~Role();
    Role(const Role&) = delete;
    Role& operator=(const Role&) = delete;

    /// The counts and reports that all homes of the installation have published.
    const TotalsView& totals() const;

    /// The life of one message. Errors: unavailable (its partition is not folded here), corrupt.
    core::Result<std::optional<History>> find(std::string_view id) const;

    /// The report of a day, made again from the topic; nullopt while that goes on. The first call
    /// begins; the one that brings the report ends it, so that the next one begins anew. One day at
    /// a time: asking for another one gives the former up.
    std::optional<core::Result<Report>> report_from_log(Day day);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::reliability
