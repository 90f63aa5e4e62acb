#pragma once

#include "core/record.hpp"
#include "reliability/history/history.hpp"

#include <string>
#include <string_view>
#include <vector>

/// The event of the log topic `reliability`, as docs/formats/reliability.md has it. Pure.
namespace beckon::reliability {

inline constexpr std::string_view kMilestonesType = "beckon.milestones.v1";

/// beckon.milestones.v1: a tracked message reached one milestone or several. Its key is the id.
struct MilestonesReached {
    std::string id;
    Timestamp expires{};           ///< when the message's TTL ends, by the log's time
    std::string source;            ///< the reporter's node id
    std::vector<Reached> reached;  ///< at least one; in no particular order
    bool operator==(const MilestonesReached&) const = default;
};

core::Record encode(const MilestonesReached& event);

/// False: the record is none, or of a form that this build does not know. Milestones with unknown
/// names are left out; a record with no other is none. Takes `into` so that its memory is used
/// again.
bool decode(const core::RecordView& record, MilestonesReached& into);

}  // namespace beckon::reliability
