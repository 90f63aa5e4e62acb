#pragma once

#include "core/clock.hpp"
#include "retry/home/tiers/due.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::retry {

/// A delivery that waits for a place, or is being attempted.
struct Job {
    Due due;
    std::string owner;         ///< of its webhook
    std::string host;          ///< of its receiver
    std::size_t cap_max = 64;  ///< attempts at a time that its webhook allows; 1 keeps the order
    bool failing = false;      ///< its webhook has accepted nothing for a while, by the log
    /// For a client of a bridge in place of a webhook: its host has no cap, since all clients have
    /// the same, and nothing is remembered of an idle one.
    bool bridged = false;
    std::uint64_t attempt = 0;  ///< given by next(); names the attempt to ended()
};

/// Decides which delivery is attempted next (docs/webhooks.md#fairness): deficit round robin over
/// the owners, within an owner over its webhooks, and within a webhook over the tiers in which its
/// deliveries wait. An attempt costs the time that it takes, the processor time and the bytes that
/// it sends, so a slow receiver gets as much time as a quick one and not as many attempts.
///
/// An attempt waits on a socket, so there are many places, and each owner has a FairShare of them:
/// an eighth for slow receivers, a quarter for slow and unknown ones together, a half for all
/// including quick ones. So receivers that hang leave places to all other owners, and to the same
/// owner's webhooks that answer. A webhook's attempts are capped at what its receiver has proved to
/// bear; so are a host's, of which each owner has a share too. A tier with waiting deliveries has
/// at least one place.
///
/// The lanes (slow, unknown, quick) and the rounds within an owner are the scheduler's own, since
/// an OwnerBudget tells owners apart and not their webhooks: a receiver that hangs must leave
/// places to the same owner's others.
///
/// The window of each partition (the deliveries that wait or are attempted) is shared in the same
/// way: deliveries beyond a share wait in a tier. The events of the attempts under way have a bound
/// in bytes, of which each owner has a share.
///
/// Pure: no clock, no I/O. One thread.
class Scheduler {
public:
    static constexpr core::Duration kQuantum = std::chrono::milliseconds{50};
    static constexpr core::Duration kCostLeast = std::chrono::milliseconds{1};
    static constexpr core::Duration kCostMost = std::chrono::minutes{1};
    /// The cost of a byte: the time in which 16 MiB a second would send it.
    static constexpr core::Duration kCostOfKib = std::chrono::microseconds{61};
    /// A receiver whose answers take longer is slow until it answers sooner.
    static constexpr core::Duration kQuick = std::chrono::seconds{1};
    static constexpr std::size_t kHostCapLeast = 64;
    static constexpr double kCapAtFirst = 8;
    /// The most idle webhooks whose receivers' capacity is remembered.
    static constexpr std::size_t kIdleMax = 10'000;

    struct Options {
        std::size_t workers = 1'024;  ///< attempts at a time
        std::size_t tiers = 9;
        std::size_t queued_max = 4'096;      ///< the window of a partition
        std::size_t event_bytes = 64 << 20;  ///< of all attempts under way
    };

    explicit Scheduler(Options options);
    ~Scheduler();

    /// Takes a delivery, or returns how long its webhook's queue will take: its webhook or owner
    /// then holds its share of the window, and the delivery waits better in a tier.
    std::optional<core::Duration> add(Job& job);

    /// The delivery to attempt now. nullopt: none may start until an attempt ends, a delivery is
    /// added, or kQuick has passed.
    std::optional<Job> next(core::MonoTime now);

    /// The attempt has used so much processor time. A place is one of `workers`, and the processor
    /// is one, so that its time costs so many times the time of a place.
    void charge(std::uint64_t attempt, core::Duration processor);

    struct Ended {
        std::uint64_t attempt = 0;
        core::Duration took{};
        bool overloaded = false;  ///< timed out, throttled, or no connection: ask for less
        bool attempted = true;    ///< false: nothing was sent, and nothing is learned
    };
    /// An attempt that next() has started ends once.
    void ended(const Ended& attempt);

    /// Removes the waiting deliveries of a partition that this node serves no longer. Returns how
    /// many they were.
    std::size_t forget(core::Partition partition);

    std::size_t in_flight() const;
    std::size_t waiting() const;
    std::size_t waiting_of(std::string_view owner) const;
    std::size_t in_flight_of(std::string_view owner) const;
    /// Webhooks with deliveries, and idle ones that are remembered.
    std::size_t webhooks() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::retry
