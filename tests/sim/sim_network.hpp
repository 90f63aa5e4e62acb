#pragma once

#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "support/test_executor.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::sim {

class SimNetwork;

/// One connection between two nodes: bytes in order, after a delay, and no more than a bound on
/// their way. Of the bytes on their way when a connection ends, a part still arrives, cut anywhere.
/// While the network between them is cut nothing arrives and nobody is notified.
class SimWire : public std::enable_shared_from_this<SimWire> {
public:
    enum Side : std::size_t { caller, called };
    struct End {
        core::Executor* loop = nullptr;  ///< of the process, which drops late bytes
        std::function<void(std::string_view)> received = {};
        std::function<void()> writable = {};
        std::function<void(const core::Error&)> closed = {};
    };

    SimWire(SimNetwork& network, std::pair<std::string, std::string> nodes)
        : network_(network), nodes_(std::move(nodes)) {}

    void attach(Side side, End end) { ends_[side] = std::move(end); }
    /// Takes what there is space for from the front of `bytes`.
    void write(Side from, std::string& bytes);
    /// This end is gone; the other one is notified later, if the network lets it.
    void close(Side side);
    bool joins(const std::string& node) const {
        return nodes_.first == node || nodes_.second == node;
    }
    struct ReceivedBy {
        bool caller = true;
        bool called = true;
    };
    /// The ends that are notified lose it. To the other one it is half-open: its bytes get nowhere.
    void reset(ReceivedBy ends);

private:
    friend class SimNetwork;
    static Side other(Side side) { return side == caller ? called : caller; }
    void arrive(Side from);
    void deliver(Side from);
    void lose(Side side);
    void lost_at(Side side);

    SimNetwork& network_;
    const std::pair<std::string, std::string> nodes_;
    std::array<End, 2> ends_{};
    std::array<std::string, 2> under_way_{};  ///< by sender
    std::array<bool, 2> moving_{};            ///< by sender
    std::array<bool, 2> open_{true, true};
};

/// The network between the nodes of a simulation.
class SimNetwork {
public:
    /// A node that listens: is given its end of a connection that another one made.
    using Accept = std::function<void(std::shared_ptr<SimWire>)>;

    SimNetwork(test::SimExecutor& sim, std::uint64_t seed, core::Duration delay_max,
               std::size_t wire_bytes_max)
        : wire_bytes_max_(wire_bytes_max), sim_(sim), random_(seed), delay_max_(delay_max) {}

    void listen(const core::NodeId& node, core::Executor& loop, Accept accept);
    /// Its process is gone: connections end as the kernel ends them.
    void leave(const core::NodeId& node);
    /// Null: nobody answers. The other end is accepted later, when its process comes to it.
    std::shared_ptr<SimWire> connect(const core::NodeId& from, const core::NodeId& to);

    /// Why connect() gave nothing: the called host says that nobody listens there (or a firewall
    /// says so); else it is silent.
    bool refuses(const core::NodeId& from, const core::NodeId& to) const;

    /// Nothing gets from one to the other until healed.
    void cut(const std::string& one, const std::string& other, bool is_cut);
    bool is_cut(const std::string& one, const std::string& other) const;
    /// A firewall resets the connections that `one` has with `other`, and refuses its calls, until
    /// healed. Calls the other way get through.
    void reject(const std::string& one, const std::string& other, bool rejected);
    void heal() {
        cuts_.clear();
        rejects_.clear();
        slower_by_ = {};
    }
    /// Some connection, if there is one, is reset.
    void reset_one(std::uint64_t which, SimWire::ReceivedBy ends);
    /// Delays are longer by this.
    void slow_down(core::Duration by) { slower_by_ = by; }

    const std::size_t wire_bytes_max_;

private:
    friend class SimWire;
    struct Listener {
        core::Executor* loop;
        Accept accept;
    };
    core::Duration delay();

    test::SimExecutor& sim_;
    std::mt19937_64 random_;
    const core::Duration delay_max_;
    core::Duration slower_by_{};
    std::map<std::string, Listener> listeners_;
    std::set<std::pair<std::string, std::string>> cuts_;
    std::set<std::pair<std::string, std::string>> rejects_;  ///< from, to
    std::vector<std::weak_ptr<SimWire>> wires_;
};

}  // namespace beckon::sim
