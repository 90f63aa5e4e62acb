#include "sim/sim_tracking.hpp"

#include <stdexcept>
#include <utility>

namespace beckon::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kRowsMemory = 1U << 20;

std::unique_ptr<reliability::MilestoneStore> open_rows(const std::filesystem::path& directory,
                                                       core::Partition partitions) {
    static const auto memory = std::make_shared<rocks::Memory>(kRowsMemory, kRowsMemory);
    auto opened = reliability::MilestoneStore::open(
        {.directory = directory, .log_id = "sim", .partitions = partitions, .memory = memory});
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
}

}  // namespace

SimTracking::SimTracking(log::EventLog& log, ProcessLife& life, const core::Clock& clock,
                         const core::NodeId& node, core::Partition partitions)
    : loop_("milestones", life),
      queue_({.source = node.text}, clock, [this] { writer_.wake(); }),
      writer_(queue_, partitions, log, loop_) {}

SimReliability::SimReliability(const Surroundings& around, const core::NodeId& id,
                               core::Partition partitions)
    : around_(around),
      id_(id),
      life_(around_.executor),
      loop_("reliability", life_),
      store_(open_rows(around_.directory, partitions)),
      publisher_(around_.log.open_publisher(loop_)) {
    cluster_ = std::make_unique<cluster::Cluster>(
        cluster::ClusterOptions{.role = "reliability",
                                .self = id_,
                                .name = id_.text,
                                .partitions = partitions,
                                .link_url = {},
                                .session_timeout = 6s},
        around_.log, loop_, around_.clock,
        cluster::Cluster::Events{
            .placed = [this](core::Partition p, const auto& placement) { placed(p, placement); }});
    tick();
}

SimReliability::~SimReliability() {
    life_.kill();
    cluster_.reset();
    homes_.clear();
}

void SimReliability::placed(core::Partition partition, const cluster::Placement& placement) {
    const bool serves = placement.home == id_;
    if (!serves && !cluster::contains(placement.standbys, id_)) {
        homes_.erase(partition);
        return;
    }
    auto& home = homes_[partition];
    if (!home) {
        home = std::make_unique<reliability::MilestoneHome>(
            reliability::MilestoneHome::Options{.partition = partition, .node = id_},
            reliability::MilestoneHome::Context{around_.log, *publisher_, loop_, around_.clock},
            store_->partition(partition), [this] { announce(); });
    }
    home->serve(serves);
}

void SimReliability::announce() {
    if (!cluster_) return;
    std::set<core::Partition> ready;
    for (const auto& [partition, home] : homes_) {
        if (home && home->following()) ready.insert(partition);
    }
    if (announced_ != ready) cluster_->set_ready(ready);
    announced_ = ready;
}

void SimReliability::tick() {
    loop_.post_after(1s, [this] {
        cluster_->still_alive();
        for (const auto& [partition, home] : homes_) home->tick();
        announce();
        tick();
    });
}

const reliability::MilestoneHome* SimReliability::serving(core::Partition partition) const {
    const auto found = homes_.find(partition);
    if (found == homes_.end() || !found->second->serves() || !found->second->following()) {
        return nullptr;
    }
    return found->second.get();
}

core::Offset SimReliability::written(core::Partition partition) const {
    const auto checkpoint = store_->partition(partition)->checkpoint();
    return checkpoint ? checkpoint->next : 0;
}

}  // namespace beckon::sim
