#pragma once

#include <algorithm>
#include <cstddef>

namespace beckon::store {

/// The rows of a client's channels.
struct ChannelCount {
    std::size_t living = 0;
    std::size_t rows = 0;  ///< those of removed channels included, which are remembered for a day
};

/// How many channels a client may have, and how many more it may have removed within a day: whoever
/// counts its channels or removes it reads all their rows.
struct ChannelLimit {
    std::size_t channels_max = 1'000;

    std::size_t rows_max() const { return 2 * channels_max; }
    /// How many may be added to those.
    std::size_t left(const ChannelCount& count) const {
        return std::min(channels_max - std::min(channels_max, count.living),
                        rows_max() - std::min(rows_max(), count.rows));
    }
};

}  // namespace beckon::store
