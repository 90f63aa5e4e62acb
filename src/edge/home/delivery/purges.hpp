#pragma once

#include "core/ids.hpp"
#include "edge/home/delivery/delivery.hpp"
#include "store/edge_store.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <set>
#include <unordered_map>
#include <vector>

namespace beckon::edge {

/// Finishes the waiting messages of channels that are gone, a bounded piece in each turn, however
/// many messages wait and however many channels go. Messages that come later are delivered or
/// expire: the two log topics have no common order.
class Purges {
public:
    /// Messages read in one turn.
    static constexpr std::size_t kBudget = 1'024;

    using Done = std::function<void()>;

    Purges(const PartContext& context, Delivery& delivery)
        : context_(context), delivery_(delivery) {}

    /// `done` runs when all messages that waited at the call are finished. Channels of one client
    /// that are added before its turn share one read.
    void begin(const core::Uaid& client, const core::ChannelId& channel, Done done);
    /// Purges all channels of a client that is gone.
    void begin_all(const core::Uaid& client, Done done);
    /// True if there is more to do.
    bool turn();
    void clear();

private:
    struct Job {
        std::set<core::ChannelId> channels;
        bool all = false;  ///< channels, whether they are named or not
        std::vector<Done> done;
    };
    Job& job_of(const core::Uaid& client);
    void start_next();
    bool read_piece();

    const PartContext& context_;
    Delivery& delivery_;
    std::deque<core::Uaid> order_;  ///< of waiting_
    std::unordered_map<core::Uaid, Job> waiting_;
    /// The one under way, if its `done` is not empty.
    Job running_;
    core::Uaid client_;
    store::DrainCursor cursor_;
};

}  // namespace beckon::edge
