#pragma once

#include "log/batching/steady_time.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace beckon::test {

using log::SteadyTime;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Threads that share some processors, in simulated time. As a fair scheduler has them: of those
/// that have something to do, the one that had least is next.
template <std::size_t Threads>
class SimulatedMachine {
public:
    static constexpr SteadyTime kBegin = SteadyTime{} + seconds{1000};

    /// Every time of compute() is multiplied by `slower`.
    SimulatedMachine(int processors, double slower) : processors_(processors), slower_(slower) {}

    SteadyTime now() const { return now_; }
    SteadyTime::duration scaled(microseconds span) const {
        return std::chrono::duration_cast<SteadyTime::duration>(span * slower_);
    }

    void at(SteadyTime time, std::function<void()> run) {
        events_.push({std::max(time, now_), number_++, std::move(run)});
    }
    /// The thread `who` computes for `needs`, after what it has to do already; then `then`.
    void compute(std::size_t who, microseconds needs, std::function<void()> then) {
        auto& thread = threads_[who];
        if (thread.tasks.empty()) {  // it has slept: it saved nothing up
            auto least = SteadyTime::duration::max();
            for (const auto& other : threads_) {
                if (!other.tasks.empty()) least = std::min(least, other.had);
            }
            if (least != SteadyTime::duration::max())
                thread.had = std::max(thread.had, least - kSleeperBonus);
            thread.since = now_;
        }
        thread.tasks.push_back({scaled(needs), std::move(then)});
        dispatch();
    }
    void run_for(seconds span) {
        while (!events_.empty() && events_.top().time < kBegin + span) {
            const auto event = events_.top();
            events_.pop();
            now_ = event.time;
            event.run();
        }
        now_ = kBegin + span;
    }

    /// Of all processors.
    SteadyTime::duration used() const { return used_; }
    /// How long the thread had something to do and no processor.
    SteadyTime::duration waited(std::size_t who) const { return threads_[who].waited; }
    SteadyTime::duration computed(std::size_t who) const { return threads_[who].computed; }

private:
    static constexpr milliseconds kSleeperBonus{3};

    struct Event {
        SteadyTime time;
        std::uint64_t number;
        std::function<void()> run;
        bool operator<(const Event& other) const {
            return time != other.time ? time > other.time : number > other.number;
        }
    };
    struct Task {
        SteadyTime::duration needs;
        std::function<void()> then;
    };
    struct Thread {
        std::deque<Task> tasks;
        SteadyTime::duration had{};
        SteadyTime::duration waited{};
        SteadyTime::duration computed{};
        SteadyTime since{};  ///< it has something to do and does not run
        bool runs = false;
    };

    void dispatch() {
        while (running_ < processors_) {
            Thread* next = nullptr;
            for (auto& thread : threads_) {
                if (!thread.runs && !thread.tasks.empty() && (!next || thread.had < next->had))
                    next = &thread;
            }
            if (!next) return;
            start(*next);
        }
    }
    void start(Thread& thread) {
        thread.runs = true;
        ++running_;
        const auto needs = thread.tasks.front().needs;
        used_ += needs;
        thread.had += needs;
        thread.computed += needs;
        thread.waited += now_ - thread.since;
        at(now_ + needs, [this, &thread] {
            const auto then = std::move(thread.tasks.front().then);
            thread.tasks.pop_front();
            thread.runs = false;
            thread.since = now_;
            --running_;
            then();
            dispatch();
        });
    }

    const int processors_;
    const double slower_;
    SteadyTime now_ = kBegin;
    std::priority_queue<Event> events_;
    std::uint64_t number_ = 0;
    std::array<Thread, Threads> threads_;
    int running_ = 0;
    SteadyTime::duration used_{};
};

/// Who sends to a simulated log.
struct Load {
    std::size_t closed = 0;      ///< senders that send again after their answer
    std::size_t per_second = 0;  ///< messages of senders that do not wait
    std::size_t burst = 0;       ///< so many at once, twice a second
};

/// Senders in simulated time: each has one message under way at most. Messages of a rate and of
/// bursts come when they are due, or when one of kConnections senders has its answer.
template <std::size_t Threads>
class Arrivals {
public:
    static constexpr std::size_t kConnections = 2'048;  ///< of messages at a rate and in bursts
    static constexpr milliseconds kBurstEvery{500};

    /// Calls `send` with the number of the sender of each message. `machine` outlives this.
    Arrivals(SimulatedMachine<Threads>& machine, const Load& load,
             std::function<void(std::size_t)> send)
        : machine_(machine),
          load_(load),
          send_(std::move(send)),
          senders_(std::max(load.closed, kConnections)) {
        for (std::size_t i = load.closed; i < senders_.size(); ++i) free_.push_back(i);
    }

    void begin() {
        for (std::size_t i = 0; i < load_.closed; ++i) send_(i);
        if (load_.per_second > 0) send_open();
        if (load_.burst > 0) send_burst();
    }
    /// The message of that sender has its answer.
    void answered(std::size_t sender) {
        if (sender < load_.closed) return send_(sender);
        free_.push_back(sender);
        send_wanted();
    }
    /// Of that sender: an address that no other one has.
    const void* connection(std::size_t sender) const { return &senders_[sender]; }

private:
    void send_open() {
        std::exponential_distribution<double> next{static_cast<double>(load_.per_second)};
        machine_.at(machine_.now() + std::chrono::duration_cast<SteadyTime::duration>(
                                         std::chrono::duration<double>{next(random_)}),
                    [this] {
                        ++wanted_;
                        send_wanted();
                        send_open();
                    });
    }
    void send_burst() {
        wanted_ += load_.burst;
        send_wanted();
        machine_.at(machine_.now() + kBurstEvery, [this] { send_burst(); });
    }
    void send_wanted() {
        while (wanted_ > 0 && !free_.empty()) {
            --wanted_;
            const auto sender = free_.front();
            free_.pop_front();
            send_(sender);
        }
    }

    SimulatedMachine<Threads>& machine_;
    const Load load_;
    const std::function<void(std::size_t)> send_;
    std::mt19937_64 random_{7};
    std::vector<int> senders_;
    std::deque<std::size_t> free_;  ///< senders without a message under way
    std::size_t wanted_ = 0;        ///< messages whose time has come
};

template <class Unit>
Unit percentile(std::vector<SteadyTime::duration>& of, double share) {
    if (of.empty()) return {};
    std::sort(of.begin(), of.end());
    return std::chrono::duration_cast<Unit>(
        of[static_cast<std::size_t>(share * static_cast<double>(of.size() - 1))]);
}

}  // namespace beckon::test
