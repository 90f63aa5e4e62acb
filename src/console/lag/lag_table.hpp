#pragma once

#include "console/lag/position_times.hpp"
#include "console/lag/status.hpp"
#include "core/clock.hpp"
#include "log/groups.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace beckon::console {

/// One group in one partition, as it is shown.
struct LagRow {
    std::string group;
    log::NamedPartition where;
    bool own = true;  ///< of this installation of Beckon; only those count as findings
    Status status = Status::ok;
    std::string why;
    std::string owner;
    core::Offset position = 0;
    log::Ends ends;
    Facts facts;
    /// False until the age of waiting records is known: `facts.behind` is zero then.
    bool aged = true;
    Loss loss = Loss::none;
    std::optional<core::Duration> drain;
    std::optional<core::Duration> left;
    std::vector<core::Offset> history;  ///< lags, the newest last; empty: nothing waited of late

    core::Offset lag() const { return facts.lag; }
    /// Of a delay topic, where records wait on purpose: nobody works to drain it.
    bool is_delayed() const { return facts.delay > core::Duration::zero(); }
};
/// Whether the rows are of the same group in the same partition.
bool same_place(const LagRow& a, const LagRow& b);
/// True if their values are the same.
bool same_news(const LagRow& a, const LagRow& b);

/// The reader of a partition of a group whose members do not name it.
struct Reader {
    bool dead = false;   ///< it is known that no living process reads it
    std::string name{};  ///< empty: none is known
};
using ReaderOf = std::function<Reader(const std::string& group, const log::NamedPartition&)>;

/// Where each endpoint's view of `subscriptions` is, by the process's own report: in Kafka all
/// endpoints share one offset, that of the last one to commit.
struct Views {
    std::string group;                                      ///< the shared one
    std::map<std::string, std::vector<core::Offset>> next;  ///< by process, then by partition
};
using ViewsOf = std::function<Views()>;

/// How long records of a topic wait on purpose, as in the delay topics of the role retry; zero:
/// they do not.
using DelayOf = std::function<core::Duration(const log::NamedPartition&)>;

/// Whether a group is one of Beckon's own. Others may read the same Kafka, and are their owners'.
using IsOwn = std::function<bool(const std::string& group)>;

/// The groups of the roles, whose names are the prefix and the role.
IsOwn own_groups(std::string prefix);

/// The delays of the delay topics whose names begin with `prefix`, from the delays of the tiers by
/// number.
DelayOf delays_of_tiers(std::vector<std::chrono::seconds> delays, std::string prefix);

/// A query for the append time of the first record at or after `offset`.
struct Probe {
    log::NamedPartition where;
    core::Offset offset = 0;
    bool operator==(const Probe&) const = default;
};

/// Turns snapshots of all groups into rows with rates, ages and words. No clock, no log; one
/// thread. Its memory of each partition is bounded, and it keeps only partitions and groups of the
/// last snapshot.
class LagTable {
public:
    /// Rates are over about the last of these.
    static constexpr std::size_t kHistory = 60;
    static constexpr std::chrono::seconds kRateWindow{60};

    /// The questions of the table about groups and topics; any may be empty. Without `is_own` all
    /// groups are own.
    struct Context {
        ReaderOf reader_of = {};
        DelayOf delay_of = {};
        ViewsOf views_of = {};
        IsOwn is_own = {};
    };
    LagTable() = default;
    explicit LagTable(Context context) : context_(std::move(context)) {}

    /// In the place of the group that endpoints share comes one for each: "<group>/<process>".
    /// `now`: when it was taken, by the clock of append times as far as it is known.
    void update(log::GroupsSnapshot snapshot, core::Timestamp now);

    /// Records whose append time would show an age that is not known: those that wait longest
    /// unknown first, at most `max`.
    std::vector<Probe> wanted(std::size_t max) const;
    void learn(const Probe& probe, core::Timestamp appended);

    std::vector<LagRow> rows() const;
    const std::vector<std::string>& problems() const { return snapshot_.problems; }

private:
    struct Sample {
        core::Timestamp time{};
        core::Offset position = 0;
        core::Offset end = 0;
    };
    struct Series {
        std::deque<Sample> samples;  ///< the oldest first
        core::Timestamp moved_at{};  ///< when the position was last seen to move
        std::uint64_t update = 0;    ///< the last that named it
    };
    struct Times {
        PositionTimes known;
        std::uint64_t update = 0;  ///< the last that named it
    };
    using Key = std::pair<std::string, log::NamedPartition>;
    /// The remembered values of a position of the snapshot.
    struct Known {
        const Series* series = nullptr;
        const PositionTimes* times = nullptr;
    };

    Known remember(const log::GroupPosition& one);
    LagRow row(const log::GroupPosition& one, const Known& known) const;
    Facts facts(const log::GroupPosition& one, const Known& known, const Reader& reader) const;
    static std::vector<core::Offset> history(const Series& series);

    const Context context_;
    log::GroupsSnapshot snapshot_;
    core::Timestamp now_{};
    std::uint64_t update_ = 0;
    std::map<Key, Series> series_;
    std::map<log::NamedPartition, Times> times_;
    std::vector<Known> known_;  ///< of each position of the snapshot, in the maps
};

/// The lag of all groups at one moment. Immutable: pages that show it keep it.
struct LagPage {
    core::Timestamp at{};  ///< zero: nothing is known yet
    std::vector<LagRow> rows{};
    std::vector<std::string> problems{};
    std::chrono::milliseconds took{};
};

using LagPagePtr = std::shared_ptr<const LagPage>;

/// Records read per poll to learn their append times.
inline constexpr std::size_t kProbesMax = 8;
/// One poll: takes the groups' positions into the table, learns some ages, and makes the page. A
/// poll that failed shows no rows, but the reason. Blocks.
LagPagePtr poll(LagTable& table, log::Groups& groups, const core::Clock& clock,
                const std::stop_token& stop);

}  // namespace beckon::console
