#include "cluster/takeovers.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace beckon::cluster {

Takeovers::Takeovers(std::vector<std::uint64_t> capacities, std::vector<std::size_t> homes)
    : capacities_(std::move(capacities)),
      homes_(std::move(homes)),
      capacity_(std::accumulate(capacities_.begin(), capacities_.end(), std::uint64_t{0})),
      partitions_(std::accumulate(homes_.begin(), homes_.end(), std::size_t{0})),
      pairs_(homes_.size() * homes_.size()),
      below_(homes_.size()),
      rounded_(homes_.size()),
      spare_(homes_.size()) {
    if (homes_.size() < 2) return;
    for (std::size_t dead = 0; dead < homes_.size(); ++dead) {
        auto spare = partitions_;
        for (std::size_t i = 0; i < homes_.size(); ++i) {
            if (i == dead) continue;
            const auto down = share(i, dead);
            spare -= std::min(spare, down + (homes_[i] > down ? 1 : 0));
        }
        spare_[dead] = static_cast<std::ptrdiff_t>(spare);
    }
}

std::size_t Takeovers::share(std::size_t node, std::size_t dead) const {
    return partitions_ * capacities_[node] / (capacity_ - capacities_[dead]);
}

bool Takeovers::has_room(std::size_t home, std::size_t standby) const {
    const auto then = homes_[standby] + shared(home, standby);
    const auto down = share(standby, home);
    return then < down || (then == down && rounded_[home] < spare_[home]);
}

bool Takeovers::needs_room(std::size_t home) const {
    const auto within = below_[home] + std::min(rounded_[home], spare_[home]);
    return within < static_cast<std::ptrdiff_t>(homes_[home] / 2);
}

void Takeovers::count(std::size_t home, std::size_t standby, int change) {
    auto& pairs = pairs_[home * homes_.size() + standby];
    if (change < 0) --pairs;
    const auto then = homes_[standby] + pairs;
    const auto down = share(standby, home);
    if (then < down) below_[home] += change;
    if (then == down) rounded_[home] += change;
    if (change > 0) ++pairs;
}

}  // namespace beckon::cluster
