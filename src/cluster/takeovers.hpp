#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace beckon::cluster {

/// Whose share would be exceeded if a node died and the standbys took over its partitions: a node
/// beyond its share has to give other partitions away, which are further moves for one death
/// (decision 0020). Nodes are indices. No I/O; one thread.
class Takeovers {
public:
    /// `homes`: of how many partitions each node is the home; these do not change any more.
    Takeovers(std::vector<std::uint64_t> capacities, std::vector<std::size_t> homes);

    void add(std::size_t home, std::size_t standby) { count(home, standby, 1); }
    void remove(std::size_t home, std::size_t standby) { count(home, standby, -1); }
    /// How many partitions have this home and this standby.
    std::size_t shared(std::size_t home, std::size_t standby) const {
        return pairs_[home * homes_.size() + standby];
    }

    /// Whether `standby` could take over one partition more of `home` within its share.
    bool has_room(std::size_t home, std::size_t standby) const;
    /// Whether fewer than half of the partitions of `home` have standbys that have room: then its
    /// death would move more than one and a half times as many as it has.
    bool needs_room(std::size_t home) const;

private:
    void count(std::size_t home, std::size_t standby, int change);
    /// Once `dead` is gone, rounded down.
    std::size_t share(std::size_t node, std::size_t dead) const;

    std::vector<std::uint64_t> capacities_;
    std::vector<std::size_t> homes_;
    std::uint64_t capacity_ = 0;  ///< of all
    std::size_t partitions_ = 0;
    std::vector<std::size_t> pairs_;
    /// By home, if it dies: how many of its partitions lift their standbys up to their shares
    /// rounded down; how many by one more; and how many shares can still be rounded up.
    std::vector<std::ptrdiff_t> below_;
    std::vector<std::ptrdiff_t> rounded_;
    std::vector<std::ptrdiff_t> spare_;
};

}  // namespace beckon::cluster
