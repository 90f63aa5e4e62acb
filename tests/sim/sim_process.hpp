#pragma once

#include "cluster/cluster.hpp"
#include "core/tokens.hpp"
#include "edge/home/home.hpp"
#include "store/edge_store.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace beckon::sim {

/// The executor of one process: what it was going to do ends with it.
class ProcessExecutor final : public core::Executor {
public:
    explicit ProcessExecutor(test::SimExecutor& sim) : sim_(sim) {}
    void post(Task task) override { post_after(core::Duration::zero(), std::move(task)); }
    void post_after(core::Duration delay, Task task) override {
        sim_.post_after(delay, [alive = std::weak_ptr{alive_}, task = std::move(task)] {
            if (!alive.expired()) task();
        });
    }
    void kill() { alive_.reset(); }

private:
    test::SimExecutor& sim_;
    std::shared_ptr<int> alive_ = std::make_shared<int>();
};

/// One edge process: cluster, store and a home per partition, as `Edge` composes them, without its
/// threads and sockets. Destroying it is a kill: nothing is flushed.
class SimProcess final : public edge::WayToFronts {
public:
    struct Surroundings {
        log::MemoryLog& log;
        test::SimExecutor& executor;
        const core::Clock& clock;
        core::Tokens& tokens;
        core::Partition partitions;
        std::size_t delivery_window;
        std::filesystem::path directory;  ///< its disk, which outlives it
        store::Rotation rotation;
        /// What homes say to clients.
        std::function<void(edge::ToFront)> to_front;
        /// It was placed here.
        std::function<void(core::Partition)> placed;
    };

    SimProcess(const Surroundings& around, core::NodeId id);
    ~SimProcess() override;
    SimProcess(const SimProcess&) = delete;
    SimProcess& operator=(const SimProcess&) = delete;

    const core::NodeId& id() const { return id_; }
    core::Executor& executor() { return executor_; }
    edge::Home& home(core::Partition p) { return *homes_[static_cast<std::size_t>(p)]; }
    const cluster::Cluster& cluster() const { return *cluster_; }
    /// Its loops hang as seen from the group: everything goes on but the heartbeat.
    void hang(bool hangs) { hangs_ = hangs; }

    void to_front(edge::ToFront message) override { around_.to_front(std::move(message)); }

private:
    void beat();
    void drop_months();

    const Surroundings around_;
    const core::NodeId id_;
    ProcessExecutor executor_;
    bool hangs_ = false;
    edge::TombstonesInFlight tombstones_;
    edge::OutcomesInFlight outcomes_;
    std::unique_ptr<log::Publisher> publisher_;
    std::unique_ptr<store::EdgeStore> store_;
    std::vector<std::unique_ptr<edge::Home>> homes_;
    std::unique_ptr<cluster::Cluster> cluster_;
};

/// Opens the store of a process that is not running.
std::unique_ptr<store::EdgeStore> open_store(const std::filesystem::path& directory,
                                             store::Rotation rotation);

}  // namespace beckon::sim
