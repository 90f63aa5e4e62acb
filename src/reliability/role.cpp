#include "reliability/role.hpp"

#include "cluster/cluster.hpp"
#include "fold/restored.hpp"
#include "net/io_loop.hpp"
#include "ops/metric_names.hpp"
#include "reliability/home/milestone_home.hpp"
#include "reliability/home/partition_rows.hpp"
#include "reliability/home/report_maker.hpp"
#include "reliability/totals/totals_view.hpp"

#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>

namespace beckon::reliability {

namespace {

constexpr std::chrono::seconds kTick{1};
constexpr std::string_view kPart = "reliability";

std::unique_ptr<MilestoneStore> open_store(const RoleConfig& config) {
    auto opened = MilestoneStore::open({.directory = config.store_directory,
                                        .log_id = config.log_id,
                                        .partitions = config.partitions,
                                        .memory = config.store_memory});
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
}

/// The role's metrics.
struct RoleMetrics {
    explicit RoleMetrics(ops::Metrics& metrics)
        : partitions(metrics.gauge(ops::metric::kReliabilityPartitions,
                                   "Partitions of `reliability` that this process serves.")),
          lag(metrics.gauge(ops::metric::kReliabilityLag,
                            "Records of the log topic reliability that are not folded yet.")),
          messages(metrics.gauges<core::Milestone>(
              ops::metric::kReliabilityMessages,
              "Tracked messages by milestone, of the partitions that this process serves.",
              "milestone")),
          effects(metrics.gauges<Effect>(ops::metric::kReliabilityFolded,
                                         "Milestones by their effect on the history of their "
                                         "message, since it was first folded.",
                                         "effect")) {}
    prometheus::Gauge& partitions;
    prometheus::Gauge& lag;
    core::ByMilestone<prometheus::Gauge*> messages;
    core::ByEnum<Effect, prometheus::Gauge*> effects;
};

}  // namespace

struct Role::Impl {
    Impl(RoleConfig c, log::EventLog& l, const core::Clock& k, ops::Metrics& m, ops::Health& h)
        : config(std::move(c)),
          log(l),
          clock(k),
          metrics(m),
          health(h),
          store(open_store(config)),
          thread("reliability", clock) {
        thread.start();
        report_ready(false, "its partitions are not placed yet");
        thread.run_there([this] { open(); });
    }
    ~Impl() {
        thread.run_there([this] { close(); });
    }

    void open() {
        publisher = log.open_publisher(thread.loop());
        totals = std::make_unique<TotalsView>(config.node, context());
        cluster = std::make_unique<cluster::Cluster>(
            cluster::ClusterOptions{.role = "reliability",
                                    .self = config.node,
                                    .name = config.node_name,
                                    .partitions = config.partitions,
                                    .link_url = {}},
            log, thread.loop(), clock,
            cluster::Cluster::Events{
                .placed = [this](core::Partition partition, const cluster::Placement& placement) {
                    placed(partition, placement);
                }});
        tick();
    }
    void close() {
        closed = true;
        maker.reset();
        cluster.reset();
        homes.clear();
        totals.reset();
        publisher.reset();
    }

    fold::Fold::Context context() { return {log, *publisher, thread.loop(), clock}; }

    void placed(core::Partition partition, const cluster::Placement& placement) {
        const bool serves = placement.home == config.node;
        const bool follows = cluster::contains(placement.standbys, config.node);
        const auto known = homes.find(partition);
        if (!serves && !follows) {
            if (known != homes.end()) homes.erase(known);
        } else if (known != homes.end()) {
            known->second->serve(serves);
        } else {
            open_home(partition).serve(serves);
        }
        const std::scoped_lock lock{mutex};
        if (serves || follows) here.insert(partition);
        if (!serves && !follows) here.erase(partition);
    }

    MilestoneHome& open_home(core::Partition partition) {
        auto home = std::make_unique<MilestoneHome>(
            MilestoneHome::Options{.partition = partition, .node = config.node}, context(),
            store->partition(partition), [this] { announce(); });
        return *homes.emplace(partition, std::move(home)).first->second;
    }

    /// Reports the partitions that this node could take over at once, and whether the role works.
    void announce() {
        if (closed || !cluster) return;
        std::set<core::Partition> ready;
        std::string why;
        std::string stuck;
        std::optional<fold::Restored> restored;
        for (const auto& [partition, home] : homes) {
            const auto progress = home->progress();
            const auto one = meters[partition].measure(progress, clock.mono());
            if (home->following()) ready.insert(partition);
            if (home->serves() && !home->following()) {
                why = "it still reads the log";
                restored += one;
            }
            if (progress.stuck) stuck = progress.stuck->why;
        }
        if (restored) why += ": " + fold::to_string(*restored);
        if (!stuck.empty()) why = stuck;
        if (!cluster->placement_is_current()) why = "its partitions are not placed yet";
        if (announced != ready) cluster->set_ready(ready);
        announced = ready;
        report_ready(why.empty(), why);
    }

    std::optional<core::Result<Report>> report_from_log(Day day) {
        const std::scoped_lock lock{mutex};
        if (remade && remade->day == day) {
            auto report = remade->report;
            if (report) remade.reset();
            return report;
        }
        remade.emplace(Remade{.day = day, .report = {}});
        thread.loop().post([this, day] { remake(day); });
        return std::nullopt;
    }

    void remake(Day day) {
        if (closed) return;
        maker = std::make_unique<ReportMaker>(day, config.partitions, log, thread.loop(),
                                              [this, day](const core::Result<Report>& report) {
                                                  {
                                                      const std::scoped_lock lock{mutex};
                                                      if (remade && remade->day == day)
                                                          remade->report = report;
                                                  }
                                                  maker.reset();
                                              });
    }

    void report_ready(bool ready, std::string_view why) {
        if (config.decides_readiness) health.set_ready(kPart, ready, why);
    }

    void tick() {
        if (closed) return;
        // Before the work: an exception there must not end the later ones.
        thread.loop().post_after(kTick, [this] { tick(); });
        cluster->still_alive();
        for (const auto& [partition, home] : homes) home->tick();
        announce();
        measure();
    }

    void measure() {
        core::MilestoneCounts counts;
        core::ByEnum<Effect, std::uint64_t> effects;
        double lag = 0;
        int serving = 0;
        for (const auto& [partition, home] : homes) {
            if (!home->serves()) continue;
            ++serving;
            const auto reported = home->counts();
            for (const auto milestone : core::kAllMilestones) {
                counts[milestone] += reported.counts[milestone];
            }
            for (const auto effect : core::kValuesOf<Effect>) {
                effects[effect] += home->tally().effects[effect];
            }
            for (const auto& input : home->progress().inputs) {
                lag += static_cast<double>(input.lag_records());
            }
        }
        metrics.partitions.Set(serving);
        metrics.lag.Set(lag);
        for (const auto milestone : core::kAllMilestones) {
            metrics.messages[milestone]->Set(static_cast<double>(counts[milestone]));
        }
        for (const auto effect : core::kValuesOf<Effect>) {
            metrics.effects[effect]->Set(static_cast<double>(effects[effect]));
        }
    }

    const RoleConfig config;
    log::EventLog& log;
    const core::Clock& clock;
    const RoleMetrics metrics;
    ops::Health& health;
    const std::unique_ptr<MilestoneStore> store;

    // Of the loop's thread.
    bool closed = false;
    std::unique_ptr<log::Publisher> publisher;
    std::unique_ptr<TotalsView> totals;
    std::unique_ptr<cluster::Cluster> cluster;
    std::map<core::Partition, std::unique_ptr<MilestoneHome>> homes;
    std::map<core::Partition, fold::RestoreMeter> meters;
    std::set<core::Partition> announced;

    std::unique_ptr<ReportMaker> maker;

    struct Remade {
        Day day;
        std::optional<core::Result<Report>> report;
    };
    mutable std::mutex mutex;
    // Under `mutex`.
    std::set<core::Partition> here;  ///< folded here
    std::optional<Remade> remade;

    net::LoopThread thread;  ///< ends before the objects that its tasks use
};

Role::Role(RoleConfig config, log::EventLog& log, const core::Clock& clock, ops::Metrics& metrics,
           ops::Health& health)
    : impl_(std::make_unique<Impl>(std::move(config), log, clock, metrics, health)) {}

Role::~Role() = default;

std::optional<core::Result<Report>> Role::report_from_log(Day day) {
    return impl_->report_from_log(day);
}

const TotalsView& Role::totals() const { return *impl_->totals; }

core::Result<std::optional<History>> Role::find(std::string_view id) const {
    const auto partition = core::partition_of(id, impl_->config.partitions);
    {
        const std::scoped_lock lock{impl_->mutex};
        if (!impl_->here.contains(partition)) {
            return core::fail(core::Fault::unavailable,
                              "partition " + std::to_string(partition) +
                                  " of `reliability` is folded by another process");
        }
    }
    return impl_->store->partition(partition)->find(id);
}

}  // namespace beckon::reliability
