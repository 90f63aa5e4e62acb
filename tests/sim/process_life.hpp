#pragma once

#include "edge/loop/loop.hpp"
#include "support/test_executor.hpp"

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace beckon::sim {

class SimLoop;

/// The life of a process, which its loops share: they run, stall (SIGSTOP) and die together.
class ProcessLife {
public:
    explicit ProcessLife(test::SimExecutor& sim) : sim_(sim), state_(std::make_shared<State>()) {}

    /// The process dies, and its pending tasks with it.
    void kill() { state_.reset(); }
    /// SIGSTOP, SIGCONT: time goes on, and what became due runs at the end.
    void stand_still(bool still);
    bool is_stalled() const { return state_ && state_->still; }

    void run_on(SimLoop& loop, core::Duration delay, core::Executor::Task task);

private:
    struct Waiting {
        SimLoop* loop;
        core::Executor::Task task;
    };
    struct State {
        bool still = false;
        std::deque<Waiting> waiting;
    };
    static void turn(const std::weak_ptr<State>& state, SimLoop& loop, core::Executor::Task& task);

    test::SimExecutor& sim_;
    std::shared_ptr<State> state_;
};

/// A loop of a process in a simulation: each task is a turn.
class SimLoop final : public edge::Loop {
public:
    SimLoop(std::string name, ProcessLife& life) : name_(std::move(name)), life_(life) {}

    void post(Task task) override { life_.run_on(*this, {}, std::move(task)); }
    void post_after(core::Duration delay, Task task) override {
        life_.run_on(*this, delay, std::move(task));
    }
    void at_turn_end(std::function<bool()> hook) override { hooks_.push_back(std::move(hook)); }
    const std::string& name() const override { return name_; }

    void end_turn();

private:
    const std::string name_;
    ProcessLife& life_;
    std::vector<std::function<bool()>> hooks_;
};

}  // namespace beckon::sim
