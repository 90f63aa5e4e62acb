#pragma once

#include "core/clock.hpp"

#include <algorithm>
#include <vector>

namespace beckon::core {

/// How much older records of a log may be than its times say: nobody counted what passed while the
/// host was down. Who delivers asks it, and lets wait what may be over. Who destroys does not: it
/// goes by the log's time alone.
struct MissingTime {
    /// More than any message lives.
    static constexpr Duration kForever = std::chrono::hours{24 * 5'000};

    /// Records that were appended at `until` or before may be older by `most`.
    struct Part {
        Timestamp until{};
        Duration most{};
        bool operator==(const Part&) const = default;
    };
    std::vector<Part> parts;

    /// Of a record that was appended at `appended`. 0: the log's time counts all.
    Duration of(Timestamp appended) const {
        Duration most{};
        for (const auto& part : parts) {
            if (appended <= part.until) most = std::max(most, part.most);
        }
        return most;
    }
    bool operator==(const MissingTime&) const = default;
};

}  // namespace beckon::core
