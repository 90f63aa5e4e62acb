#pragma once

#include "core/clock.hpp"
#include "core/tokens.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace beckon::ingest {

/// The VAPID keys that send most, for people: each of kPlaces places counts the messages of one
/// key, and a key without a place takes that of the least weight and weighs one more than it
/// (Space-Saving). Weights are halved each minute, so a key with a sixteenth of the messages of the
/// last minutes has a place. Published is what a key has sent since it took its place.
/// Thread-safe.
class BusiestSenders {
public:
    static constexpr std::size_t kPlaces = 16;
    /// How the report of a process names the counter of a key; its SHA-256 in hex follows.
    static constexpr const char* kPrefix = "sender/";

    void add(const core::Sha256& key, core::MonoTime now) {
        const std::scoped_lock lock{mutex_};
        if (now - halved_ >= std::chrono::minutes{1}) {
            halved_ = now;
            for (auto& place : places_) place.weight /= 2;
        }
        auto at = std::find_if(places_.begin(), places_.end(), [&key](const auto& place) {
            return place.sent > 0 && place.key == key;
        });
        if (at == places_.end()) {
            at = std::min_element(places_.begin(), places_.end(),
                                  [](const auto& a, const auto& b) { return a.weight < b.weight; });
            *at = {.key = key, .weight = at->weight, .sent = 0};
        }
        ++at->weight;
        ++at->sent;
    }

    /// Messages by name of the counter.
    std::map<std::string, double> counters() const {
        const std::scoped_lock lock{mutex_};
        std::map<std::string, double> out;
        for (const auto& place : places_) {
            if (place.sent == 0) continue;
            out[kPrefix + core::hex(place.key)] = static_cast<double>(place.sent);
        }
        return out;
    }

private:
    struct Place {
        core::Sha256 key{};
        std::uint64_t weight = 0;
        std::uint64_t sent = 0;  ///< 0: nobody has the place
    };
    mutable std::mutex mutex_;
    std::array<Place, kPlaces> places_{};
    core::MonoTime halved_{};
};

}  // namespace beckon::ingest
