#pragma once

#include "core/ids.hpp"
#include "edge/home/delivery/delivery.hpp"
#include "store/edge_store.hpp"

#include <cstddef>
#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace beckon::edge {

/// Limits the number of messages that wait for one client, so that no sender fills the disk through
/// one UAID. The limit needs no row for each message: the home counts the waiting messages in the
/// store now and then, and notices a client at the latest when it is a tenth above the limit. Only
/// a serving home decides, and its decisions are pending tombstones, as always.
class PendingLimit {
public:
    /// The most clients whose next count is remembered. A forgotten client is counted again at a
    /// random message.
    static constexpr std::size_t kWatchedMax = 65'536;
    /// Messages read in one turn, or dropped.
    static constexpr std::size_t kBudget = 1'024;
    /// Messages of one client beyond the limit that are read before some are dropped.
    static constexpr std::size_t kBeyondMax = 4'096;

    PendingLimit(const PartContext& context, Delivery& delivery);

    /// A message that was folded at `offset` waits from now on.
    void waits(const core::Uaid& client, core::Offset offset);
    /// True if there is more to do.
    bool turn();
    void clear();

private:
    using Message = std::pair<core::Offset, core::MessageKey>;

    void start_next();
    void check();
    void decide(bool all_seen);
    void drop_some();

    const std::size_t step_;  ///< messages between two counts
    const PartContext& context_;
    Delivery& delivery_;
    std::unordered_map<core::Uaid, std::size_t> until_count_;  ///< messages
    std::deque<core::Uaid> due_;
    std::unordered_set<core::Uaid> is_due_;  ///< the clients in due_

    /// The client under way.
    std::optional<core::Uaid> client_;
    store::DrainCursor cursor_;
    std::vector<Message> seen_;
    std::vector<Message> dropping_;
};

}  // namespace beckon::edge
