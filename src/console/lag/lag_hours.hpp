#pragma once

#include "console/lag/lag_table.hpp"
#include "core/clock.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace beckon::console {

/// The lag of each group in each topic over the last hour, in memory. A value. Pairs of group and
/// topic beyond kPairsMax have no history; a pair that is gone is forgotten.
class LagHours {
public:
    static constexpr std::chrono::seconds kEvery{30};
    static constexpr std::size_t kPointsMax = 120;
    static constexpr std::size_t kPairsMax = 200;

    /// False: the last point is younger than kEvery, and nothing has changed.
    bool add(const LagPage& page);

    /// {"at": [ms since the Unix epoch …], "groups": [{"group", "topic", "records": [number or null
    /// …]}, …]}
    std::string json() const;

private:
    using Pair = std::pair<std::string, std::string>;  ///< group and topic

    std::deque<core::Timestamp> at_;  ///< the newest last, as the next
    std::map<Pair, std::deque<std::optional<core::Offset>>> records_;
};

}  // namespace beckon::console
