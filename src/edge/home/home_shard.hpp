#pragma once

#include "core/tokens.hpp"
#include "edge/home/home.hpp"
#include "edge/home/home_metrics.hpp"
#include "edge/shard_loop.hpp"
#include "edge/switchboard.hpp"
#include "store/edge_store.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace beckon::edge {

/// What a partition is to this process, as the controller placed it.
enum class Duty : std::uint8_t { none, standby, home };

/// The homes of one shard, and what they share: publisher, tokens, and how much
/// may be under way. Everything happens on
/// the shard's thread, construction and destruction too.
class HomeShard {
public:
    struct Ports {
        ShardLoop& loop;
        Switchboard& board;
        FrontPort& fronts;
        log::EventLog& log;
        store::EdgeStore& store;
        std::shared_ptr<const core::KeyRing> keys;
        const core::Clock& clock;
        const HomeMetrics& metrics;
        /// Some home's state has changed, or that it is stuck. On the shard's thread.
        std::function<void()> changed;
    };

    /// `options`: for every home but for its partition.
    HomeShard(HomeOptions options, Ports ports);
    ~HomeShard();
    HomeShard(const HomeShard&) = delete;
    HomeShard& operator=(const HomeShard&) = delete;

    /// Starts, takes, gives up or forgets a partition. `floor` as in Home::take.
    void place(core::Partition partition, Duty duty, core::Epoch floor);

    std::map<core::Partition, Home::State> states() const;
    /// The partitions whose fold cannot go on, and why.
    std::map<core::Partition, std::string> stuck() const;
    /// Log time, once it is known: the earliest of the partitions, since old months go by it.
    std::optional<core::Timestamp> log_now() const;

private:
    struct Held {
        std::unique_ptr<Home> home;
        Home::State state = Home::State::starting;  ///< as the switchboard knows it
        bool stuck = false;                         ///< as was reported
    };
    struct Watch;

    Held& hold(core::Partition partition);
    void forget(core::Partition partition);
    bool look();
    void report();

    const HomeOptions options_;
    Ports ports_;
    std::unique_ptr<log::Publisher> publisher_;
    core::Tokens tokens_;
    TombstonesInFlight tombstones_;
    std::map<core::Partition, Held> homes_;
    HomeTotals reported_;
    HomeTotals forgotten_;  ///< what homes counted that are no more
    core::MonoTime looked_{};
    std::shared_ptr<Watch> watch_;  ///< the loop's hook, which outlives us
};

}  // namespace beckon::edge
