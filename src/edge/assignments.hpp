#pragma once

#include "core/partition.hpp"
#include "edge/home/home_shard.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>

namespace beckon::edge {

/// The partitions of one node, with their assignments and the states of their homes. From both
/// follows whether the node is ready, which partitions it could take over at once, and whether it
/// may leave. Decides only; of the control thread.
class Assignments {
public:
    /// Partitions named in a reason; the rest is a number.
    static constexpr std::size_t kNamedMax = 5;

    /// `partitions`: of the log.
    explicit Assignments(core::Partition partitions) : partitions_(partitions) {}

    void placed(core::Partition partition, Assignment assignment);
    Assignment of(core::Partition partition) const;

    /// Reports the present states of the homes of the partitions in `theirs`, and of no others.
    void reported(const std::function<bool(core::Partition)>& theirs,
                  std::map<core::Partition, HomeShard::Report> now);

    std::set<core::Partition> served() const;
    /// The partitions that this node serves, and those that it could take over at once.
    std::set<core::Partition> ready() const;
    bool any_home() const;

    /// Why the node is not ready; empty: it serves each partition that is placed here (perhaps
    /// none), and none of them late.
    /// `placement_is_current`: the placement in `ownership` is newer than this node. An older
    /// placement is from before a restart and does not name this node.
    std::string why_unready(bool placement_is_current) const;

private:
    std::string unserved() const;
    std::string served_late() const;

    const core::Partition partitions_;
    std::map<core::Partition, Assignment> placed_;
    std::map<core::Partition, HomeShard::Report> reports_;
};

/// "0-3, 7"; "none".
std::string ranges(const std::set<core::Partition>& partitions);

}  // namespace beckon::edge
