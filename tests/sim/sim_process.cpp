#include "sim/sim_process.hpp"

#include <stdexcept>
#include <utility>

namespace beckon::sim {

namespace {

/// An edge does it once an hour, which no run of a simulation lasts.
constexpr core::Duration kDropMonthsEvery = std::chrono::minutes{1};

}  // namespace

std::unique_ptr<store::EdgeStore> open_store(const std::filesystem::path& directory,
                                             store::Rotation rotation) {
    auto opened = store::open_edge_store({.directory = directory,
                                          .log_id = "sim",
                                          .cache_bytes = 64U << 10,
                                          .write_buffer_bytes = 64U << 10,
                                          .memory = nullptr,
                                          .rotation = rotation});
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
}

SimProcess::SimProcess(const Surroundings& around, core::NodeId id)
    : around_(around),
      id_(std::move(id)),
      executor_(around.executor),
      publisher_(around.log.open_publisher(executor_)),
      store_(open_store(around.directory, around.rotation)) {
    for (core::Partition p = 0; p < around_.partitions; ++p) {
        edge::HomeOptions options;
        options.partition = p;
        options.partitions = around_.partitions;
        options.node = id_;
        options.endpoint_url = "https://sim";
        options.delivery_window = around_.delivery_window;
        homes_.push_back(std::make_unique<edge::Home>(
            options,
            edge::Home::Context{around_.log, *publisher_, *this, executor_, around_.clock,
                                around_.tokens, tombstones_, outcomes_},
            store_->open_partition(p)));
        homes_.back()->start();
    }
    cluster::ClusterOptions options;
    options.role = "edge";
    options.self = id_;
    options.partitions = around_.partitions;
    cluster_ = std::make_unique<cluster::Cluster>(
        options, around_.log, executor_, around_.clock,
        cluster::Cluster::Events{.placed = [this](core::Partition p, const auto& placement) {
            if (placement.home == id_) {
                around_.placed(p);
                home(p).placed_here(cluster_->highest_epoch(p));
            } else {
                home(p).placed_elsewhere();
            }
        }});
    beat();
    if (around_.rotation != store::Rotation::off) drop_months();
}

SimProcess::~SimProcess() { executor_.kill(); }

void SimProcess::drop_months() {
    executor_.post_after(kDropMonthsEvery, [this] {
        std::optional<core::Timestamp> earliest;
        for (const auto& home : homes_) {
            const auto now = home->log_now();
            if (now && (!earliest || *now < *earliest)) earliest = now;
        }
        if (earliest) store_->drop_past_months(*earliest, around_.clock.wall());
        drop_months();
    });
}

void SimProcess::beat() {
    executor_.post_after(std::chrono::seconds{1}, [this] {
        if (!hangs_) cluster_->still_alive();
        std::set<core::Partition> ready;
        for (core::Partition p = 0; p < around_.partitions; ++p) {
            const auto state = home(p).state();
            if (state == edge::Home::State::standby || state == edge::Home::State::serving) {
                ready.insert(p);
            }
        }
        cluster_->set_ready(ready);
        beat();
    });
}

}  // namespace beckon::sim
