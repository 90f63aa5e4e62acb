#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "records/ownership.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace beckon::cluster {

/// The nodes that the role takes for gone before its group has missed them: nodes that others
/// suspect and that have not objected within kObjection (decision 0222). Every node judges by the
/// same records of `ownership`, so all come to the same result. A wrong judgement costs a move:
/// epochs keep two homes apart. No log, no I/O; one thread.
class Suspicions {
public:
    /// A living suspect reads the suspicion and publishes its objection within this time.
    static constexpr core::Duration kObjection = std::chrono::milliseconds{150};
    /// So many nodes must suspect another one; one is enough where there is only one witness. A
    /// witness is a member that is not leaving and that nobody suspects.
    static constexpr std::size_t kWitnesses = 2;

    struct Changes {
        std::set<core::NodeId> gone;      ///< taken for gone from now on
        std::set<core::NodeId> returned;  ///< were taken for gone and have objected
    };
    /// Judges anew. `nodes`: the records of `ownership`; `members`: the nodes that count as
    /// witnesses.
    Changes judge(const std::map<core::NodeId, NodeRecord>& nodes,
                  const std::set<core::NodeId>& members, core::MonoTime now);

    /// This process was stopped for a while and may not have read an objection: suspects get their
    /// whole time again.
    void begin_again(core::MonoTime now);

    bool gone(const core::NodeId& node) const { return gone_.contains(node); }
    /// When the suspicion began by which a node was taken for gone.
    std::optional<core::MonoTime> suspected_since(const core::NodeId& node) const;
    /// When to judge again though no record has changed; nullopt: never.
    std::optional<core::MonoTime> next() const;

    /// Whether the suspicion of `accuser` is in force: `suspect` has not objected to it.
    static bool stands(const std::map<core::NodeId, NodeRecord>& nodes, const NodeRecord& accuser,
                       const core::NodeId& suspect);

private:
    std::map<core::NodeId, core::MonoTime> since_;  ///< enough witnesses suspect it
    std::set<core::NodeId> gone_;
};

/// How long a node that died again and again gets no partitions after its start, by its name: the
/// first death costs nothing, each further one twice as much as the one before. No clock; one
/// thread.
class CrashLoops {
public:
    static constexpr core::Duration kFirst = std::chrono::seconds{5};
    static constexpr core::Duration kMost = std::chrono::minutes{1};
    /// Deaths that are so long ago do not count any more.
    static constexpr core::Duration kForgotten = std::chrono::minutes{3};

    void died(const std::string& name, core::MonoTime now);
    /// The pause of a process of that name, from its start on.
    core::Duration pause(const std::string& name, core::MonoTime now) const;

private:
    struct Deaths {
        int count = 0;
        core::MonoTime last{};
    };
    std::map<std::string, Deaths> deaths_;
};

}  // namespace beckon::cluster
