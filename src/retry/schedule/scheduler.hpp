#pragma once

#include "core/clock.hpp"
#include "retry/tiers/due.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>

namespace beckon::retry {

/// A delivery that waits for a worker.
struct Job {
    Due due;
    std::string host;          ///< that it goes to
    std::size_t cap_max = 64;  ///< attempts at a time that its webhook allows; 1 keeps the order
};

/// Decides which delivery is attempted next (docs/webhooks.md#fairness). Each webhook has a queue
/// for each tier, served by deficit round robin: what an attempt costs is the time that it takes,
/// so a slow receiver gets as much time as a quick one and not as many attempts. Attempts in flight
/// are capped for each webhook and host, by what the receiver has shown to bear; a noisy webhook
/// (by number or by time) gets a quarter of the workers while others wait; a tenth of them is kept
/// for webhooks that are quiet.
///
/// The tiers share the workers: with fewer workers than tiers the tier of the next attempt is drawn
/// at random, weighted by how many wait; otherwise every tier in which somebody waits has one, and
/// the rest go by weight.
///
/// Pure but for its seeded generator: no clock, no I/O. One thread.
class Scheduler {
public:
    static constexpr core::Duration kQuantum = std::chrono::milliseconds{50};
    static constexpr core::Duration kCostLeast = std::chrono::milliseconds{1};
    static constexpr std::size_t kHostCap = 64;
    static constexpr double kCapAtFirst = 8;

    struct Options {
        std::size_t workers = 64;  ///< attempts at a time
        std::size_t tiers = 9;
        std::size_t queued_max = 4'096;  ///< the window; one webhook may hold an eighth of it
        core::Duration timeout = std::chrono::seconds{15};
        std::uint64_t seed = 1;
    };

    explicit Scheduler(Options options);
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    /// Takes a delivery in, or says how long its webhook's queue will take: then it holds more than
    /// its part of the window, and the delivery waits better in a tier.
    std::optional<core::Duration> add(Job& job);

    /// The next one to attempt, now. nullopt: nothing may start.
    std::optional<Job> next();

    struct Ended {
        std::string_view webhook;
        std::string_view host;
        int tier = 0;
        core::Duration took{};
        bool overloaded = false;  ///< timed out, throttled, or no connection: ask for less
    };
    void ended(const Ended& attempt);

    /// Gives back what still waits of a partition: it is not this node's any more.
    std::size_t forget(core::Partition partition);

    std::size_t in_flight() const;
    std::size_t waiting() const;
    std::size_t waiting(int tier) const;
    std::size_t in_flight(std::string_view webhook) const;
    bool noisy(std::string_view webhook) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
