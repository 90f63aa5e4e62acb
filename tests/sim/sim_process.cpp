#include "sim/sim_process.hpp"

#include <stdexcept>
#include <utility>

namespace beckon::sim {

std::unique_ptr<store::EdgeStore> open_store(const std::filesystem::path& directory) {
    auto opened = store::open_edge_store({.directory = directory,
                                          .log_id = "sim",
                                          .cache_bytes = 64U << 10,
                                          .write_buffer_bytes = 64U << 10,
                                          .memory = nullptr,
                                          .rotation = store::Rotation::off});
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
}

SimProcess::SimProcess(const Surroundings& around, core::NodeId id)
    : around_(around),
      id_(std::move(id)),
      executor_(around.executor),
      publisher_(around.log.open_publisher(executor_)),
      store_(open_store(around.directory)) {
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
                                around_.tokens, tombstones_},
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
                home(p).placed_here(cluster_->highest_epoch(p));
            } else {
                home(p).placed_elsewhere();
            }
        }});
    beat();
}

SimProcess::~SimProcess() { executor_.kill(); }

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
