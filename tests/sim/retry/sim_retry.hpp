#pragma once

#include "core/key_ring.hpp"
#include "log/event_log.hpp"
#include "retry/role/retry_node.hpp"
#include "sim/process_life.hpp"
#include "sim/retry/sim_receivers.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace beckon::sim {

/// A thread of a process: what is posted to it runs in its order, each a moment later. So messages
/// between two threads are on their way while others run.
class LateLoop final : public core::Executor {
public:
    LateLoop(std::string name, ProcessLife& life, const core::Clock& true_time, std::uint64_t seed,
             core::Duration late_by_max)
        : loop_(std::move(name), life), clock_(true_time), random_(seed), most_(late_by_max) {}

    void post(Task task) override {
        due_ = std::max(due_, clock_.mono() + late_by());
        loop_.post_after(due_ - clock_.mono(), std::move(task));
    }
    void post_after(core::Duration delay, Task task) override {
        if (delay <= core::Duration::zero()) return post(std::move(task));
        loop_.post_after(delay + late_by(), std::move(task));
    }

private:
    core::Duration late_by() {
        return core::Duration{static_cast<core::Duration::rep>(
            random_() % (static_cast<std::uint64_t>(most_.count()) + 1))};
    }

    SimLoop loop_;
    const core::Clock& clock_;
    std::mt19937_64 random_;
    const core::Duration most_;
    core::MonoTime due_{};
};

/// One process with the role `retry`, without threads and sockets: RetryNode with all that it has,
/// its loops, and receivers in place of libcurl. Destroying it is a kill.
class SimRetry {
public:
    struct Surroundings {
        log::EventLog& log;
        test::SimExecutor& executor;
        const core::Clock& true_time;
        const core::Clock& clock;
        SimReceivers& receivers;
        std::shared_ptr<const core::KeyRing> keys;
        std::uint64_t seed = 0;
    };
    struct Options {
        retry::RetryNode::Options node;
        std::size_t threads = 1;       ///< for deliveries
        core::Duration late_by_max{};  ///< of what one thread posts to another
    };

    SimRetry(const Surroundings& around, Options options);
    ~SimRetry();
    SimRetry(const SimRetry&) = delete;
    SimRetry& operator=(const SimRetry&) = delete;

    const core::NodeId& id() const { return id_; }
    retry::RetryNode& node() { return *node_; }
    ProcessLife& life() { return life_; }
    bool ready() const { return ready_ && !stops_; }
    bool stops() const { return stops_; }
    const std::string& why_unready() const { return why_unready_; }

    /// Runs `task` on the thread of the API, unless the process dies before.
    void on_api(std::function<void(retry::RetryNode&)> task);
    /// Seen from the group it is dead, though everything goes on but the heartbeat.
    void lose_heartbeats(bool lost) { mute_ = lost; }
    /// SIGTERM; `done` runs when it may be ended.
    void stop(std::function<void()> done);

private:
    void send(std::size_t thread, retry::HttpRequest request,
              std::function<void(retry::HttpAnswer)> done);
    void tick();

    const Surroundings around_;
    const core::NodeId id_;
    ProcessLife life_;
    LateLoop control_;
    std::vector<std::unique_ptr<LateLoop>> deliverers_;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
    bool mute_ = false;
    bool stops_ = false;
    bool ready_ = false;
    std::string why_unready_ = "it starts";
    std::unique_ptr<retry::RetryNode> node_;
};

}  // namespace beckon::sim
