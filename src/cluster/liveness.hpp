#pragma once

#include "core/clock.hpp"
#include "records/process.hpp"

#include <optional>

/// Whether a node or a process lives: the one judgement of Cluster, of the console, and of `beckon
/// cluster`, `lag` and `doctor`. Pure; any thread.
namespace beckon::cluster {

/// A process that was silent for so long is dead: two of its reports are missing, and a third is
/// late.
inline constexpr core::Duration kDeadAfter = kProcessEvery * 5 / 2;

/// The signs by which a node is judged. The nodes of a role know the group and their links; other
/// readers of `ownership` know the node's record and the reports of its process.
struct LifeSigns {
    /// Other nodes have found it dead (Suspicions), or it says that it leaves: it gets nothing.
    bool gone = false;
    /// Its group lists it. Outside of the group: its record stands, which the controller removes.
    bool member = false;
    bool linked = false;    ///< a link to it is up
    bool starting = false;  ///< it has joined its group so recently that the group may not list it
    bool judged_by_member = false;  ///< the judging node is in the group itself
    /// Since the last report of its process; nullopt: reports are not known.
    std::optional<core::Duration> silent = std::nullopt;
};

/// The group decides, unless the process is silent. A node that starts is not in the group yet:
/// until the group has missed a process that died, it takes in no other. So a link counts for a
/// node that starts, and for all where the judging node is not in the group itself.
constexpr bool is_alive(const LifeSigns& signs) {
    if (signs.gone || signs.silent.value_or(core::Duration::zero()) > kDeadAfter) return false;
    return signs.member || (signs.linked && (signs.starting || !signs.judged_by_member));
}

}  // namespace beckon::cluster
