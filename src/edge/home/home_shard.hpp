#pragma once

#include "core/lifetime.hpp"
#include "core/tokens.hpp"
#include "edge/home/home.hpp"
#include "edge/home/home_metrics.hpp"
#include "edge/loop/loop.hpp"
#include "edge/switchboard/switchboard.hpp"
#include "fold/restored.hpp"
#include "store/edge_store.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::edge {

/// The part that the controller's placement gives this process in a partition.
enum class Assignment : std::uint8_t { none, standby, home };

/// The age of the oldest record that each home has not folded.
using Lags = std::vector<std::pair<core::Partition, core::Duration>>;

/// The homes of one shard, and their shared publisher, tokens and limits of records under way.
/// Everything happens on the shard's thread, construction and destruction too; other threads post
/// through remote().
class HomeShard {
public:
    struct Context {
        std::size_t shard;
        Loop& loop;
        Switchboard& board;
        log::EventLog& log;
        store::EdgeStore& store;
        std::shared_ptr<const core::KeyRing> keys;
        const core::Clock& clock;
        const HomeMetrics& metrics;
        /// Some home's state has changed, or that it is stuck. On the shard's thread.
        std::function<void()> changed;
        /// As HomeContext has it.
        std::function<bool(std::string_view owner)> gone_wanted{};
        /// How far the homes that serve are behind the log, several times a second while they have
        /// something to do. On the shard's thread; empty: nobody asks.
        std::function<void(const Lags&)> lag{};
    };

    HomeShard(EdgeOptions options, Context context);
    ~HomeShard();

    /// The way in for other threads.
    core::Lifetime::Remote remote() const { return lifetime_.remote(); }

    /// Starts a partition's home if there is none, and lets it claim the partition, stand by, or
    /// go. `floor` as in Home::placed_here().
    void assign(core::Partition partition, Assignment assignment, core::Epoch floor);

    /// The state of one home.
    struct Report {
        Home::State state = Home::State::starting;
        /// Its fold has fallen back: it could not take the partition over at once.
        bool behind = false;
        std::optional<std::string> stuck;  ///< the fold cannot go on, and why
        /// As last measured, while its store is being restored from the log.
        std::optional<fold::Restored> restored{};
    };
    std::map<core::Partition, Report> reports() const;
    /// The next offset of `notifications` of each partition that is served here.
    std::map<core::Partition, core::Offset> served_up_to() const;
    /// Null: there is none of that partition.
    Home* find(core::Partition partition);
    const Home* find(core::Partition partition) const;
    /// Log time, once it is known: the earliest of the partitions, since old months go by it.
    std::optional<core::Timestamp> log_now() const;

private:
    struct Entry {
        std::unique_ptr<Home> home;
        Home::State state = Home::State::starting;  ///< as the switchboard knows it
        bool stuck = false;                         ///< as was reported
        core::Duration lag{};                       ///< of its fold, as last noticed
        bool behind = false;                        ///< its fold has fallen back
        bool unwanted = false;  ///< to be forgotten once the next home has taken over
        fold::RestoreMeter restore;
        std::optional<fold::Restored> restored;  ///< as last measured
    };

    Entry& entry_of(core::Partition partition);
    void forget(core::Partition partition);
    bool forget_unwanted();
    void front_lost(const core::NodeId& front);
    bool turn_ended();
    void notice_changes();
    void notice_lag();
    void report();
    void report_lag();

    const EdgeOptions options_;
    Context context_;
    std::unique_ptr<log::Publisher> publisher_;
    core::Tokens tokens_;
    TombstonesInFlight tombstones_;
    OutcomesInFlight outcomes_;
    std::map<core::Partition, Entry> homes_;
    HomeTotals reported_;
    HomeCounters forgotten_;    ///< of homes that are gone
    core::MonoTime noticed_{};  ///< when states were last compared
    core::MonoTime lag_reported_{};
    core::MonoTime lag_noticed_{};
    bool again_ = false;  ///< a turn is asked for, to compare them again
    core::Lifetime lifetime_;
};

}  // namespace beckon::edge
