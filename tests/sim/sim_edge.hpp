#pragma once

#include "cluster/cluster.hpp"
#include "core/key_ring.hpp"
#include "edge/assignments.hpp"
#include "edge/front/front.hpp"
#include "edge/home/home_shard.hpp"
#include "edge/switchboard/switchboard.hpp"
#include "log/event_log.hpp"
#include "sim/process_life.hpp"
#include "sim/sim_links.hpp"
#include "sim/sim_sockets.hpp"
#include "sim/sim_tracking.hpp"
#include "store/edge_store.hpp"
#include "support/memory_disk.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace beckon::sim {

/// RocksDB's memory: with scarce buffers it writes and compacts tables all the time.
enum class Buffers { ample, scarce };

/// Opens the store of a process that is not running.
std::unique_ptr<store::EdgeStore> open_store(const std::filesystem::path& directory,
                                             const test::MemoryDisk& disk, store::Rotation rotation,
                                             Buffers buffers);

/// One edge process as `Edge` composes it: shards with fronts and homes, the switchboard between
/// them, links, its place in the cluster; without its threads and sockets. Destroying it is a kill:
/// nothing is flushed, and its peers are notified by the kernel.
class SimEdge {
public:
    struct Surroundings {
        log::EventLog& log;
        test::SimExecutor& executor;
        const core::Clock& clock;
        SimNetwork& network;
        ClientSide& clients;
        std::shared_ptr<const core::KeyRing> keys;
        std::filesystem::path directory;
        const test::MemoryDisk& disk;  ///< outlives it
        store::Rotation rotation;
        Buffers buffers;
        bool tracks = false;  ///< milestones of tracked messages are reported
        /// It has a home or a copy here, which knows of its log what it sees from now on.
        std::function<void(core::Partition)> opened;
        /// Its home was placed here.
        std::function<void(core::Partition)> placed;
        /// A node that was taken for gone has objected, and this one has read it.
        std::function<void()> wrongly_suspected;
        /// This node, as controller, has seen all partitions of a dead one served elsewhere.
        std::function<void(core::Duration)> failed_over;
        /// Each end of a link that comes up, as a line of the diary; other lines of it.
        std::function<void(const std::string&)> linked;
        std::function<void(const std::string&)> report;
    };
    struct Options {
        core::NodeId id;
        std::string name;  ///< of the machine, over all its processes
        core::Partition partitions = 1;
        std::size_t shards = 1;
        edge::WindowLimits window;
        std::size_t mailbox_max = edge::Switchboard::kWaitingMax;
        std::size_t link_bytes_max = 8U << 20;
        int standbys = 1;
    };

    SimEdge(Surroundings around, Options options);
    ~SimEdge();
    SimEdge(const SimEdge&) = delete;
    SimEdge& operator=(const SimEdge&) = delete;

    const core::NodeId& id() const { return options_.id; }
    ProcessLife& life() { return life_; }
    std::size_t shards() const { return shards_.size(); }
    edge::Loop& loop(std::size_t shard) { return shards_[shard]->loop; }
    SimSockets& sockets(std::size_t shard) { return shards_[shard]->sockets; }

    /// Null: no home of that partition is here.
    const edge::Home* home(core::Partition partition) const;
    bool serves(core::Partition partition) const;
    /// Clients that its fronts have identified, and sessions that its homes have.
    std::size_t identified() const;
    std::size_t sessions() const;
    /// Fronts take new clients: as /ready says to a balancer.
    bool ready() const;

    /// Seen from the group it is dead, though everything goes on but the heartbeat.
    void lose_heartbeats(bool lost) { mute_ = lost; }

    /// SIGTERM: hands over, then closes its clients in portions. `done` runs when it may be ended.
    void leave(std::function<void()> done);

    /// Ends all but the store, as a kill does.
    std::unique_ptr<store::EdgeStore> kill();

private:
    struct Shard {
        Shard(std::string name, ProcessLife& life, ClientSide& clients)
            : loop(std::move(name), life), sockets(loop, clients) {}
        SimLoop loop;
        SimSockets sockets;
        std::unique_ptr<edge::Front> front;
        std::unique_ptr<edge::HomeShard> homes;
        bool tick_posted = false;
    };

    void open_shard(std::size_t index);
    void open_links();
    void open_cluster();
    void links_changed();
    void placed(core::Partition partition, const cluster::Placement& placement);
    void reported(std::size_t shard);
    void update_readiness();
    void tick();
    void go_away();
    void drop_months();

    const Surroundings around_;
    const Options options_;
    edge::EdgeOptions edge_;
    ProcessLife life_;
    SimLoop control_;
    bool mute_ = false;
    std::unique_ptr<store::EdgeStore> store_;
    std::unique_ptr<SimTracking> tracking_;
    std::vector<std::unique_ptr<Shard>> shards_;
    std::unique_ptr<edge::Switchboard> board_;
    std::unique_ptr<SimLinks> links_;
    edge::Assignments assignments_;
    std::unique_ptr<cluster::Cluster> cluster_;
    std::set<core::NodeId> linked_;
    std::function<void()> left_;  ///< set while it leaves
    bool goes_away_ = false;
};

}  // namespace beckon::sim
