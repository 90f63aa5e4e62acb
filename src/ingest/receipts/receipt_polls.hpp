#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "fold/topic_state.hpp"
#include "ingest/api/errors.hpp"
#include "log/event_log.hpp"
#include "net/peer_address.hpp"
#include "records/receipt.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace beckon::ingest {

/// The newest outcomes of each receipt subscription, a bounded number. Of one message that was
/// reported twice the first counts. Pure; one thread.
class ReceiptIndex {
public:
    /// Outcomes of a subscription among which a repeated one is recognised.
    static constexpr std::size_t kReadBack = 64;

    struct Entry {
        core::Offset offset = 0;  ///< in the subscription's partition of `events`
        core::Timestamp time{};
        std::string message_id;
        core::FinishReason reason = core::FinishReason::acked;
        bool operator==(const Entry&) const = default;
    };

    explicit ReceiptIndex(std::size_t entries_max) : entries_max_(entries_max) {}

    /// False: it was reported before.
    bool add(core::Partition partition, const core::ReceiptId& subscription, Entry entry) {
        auto& entries = entries_[subscription];
        const auto newest = entries.size() - std::min(entries.size(), kReadBack);
        const bool known =
            std::any_of(entries.begin() + static_cast<std::ptrdiff_t>(newest), entries.end(),
                        [&](const auto& one) { return one.message_id == entry.message_id; });
        if (known) return false;
        entries.push_back(std::move(entry));
        order_.push_back({partition, subscription});
        if (order_.size() > entries_max_) forget_oldest();
        return true;
    }
    /// Forgets all of the partition: its outcomes come again from the first.
    void clear(core::Partition partition) {
        std::erase_if(order_, [&](const Place& place) {
            if (place.partition != partition) return false;
            entries_.erase(place.subscription);
            return true;
        });
        forgotten_.erase(partition);
    }
    /// Up to `max` behind `after`, ascending.
    std::vector<Entry> after(const core::ReceiptId& subscription, core::Offset after,
                             std::size_t max) const {
        std::vector<Entry> out;
        const auto found = entries_.find(subscription);
        if (found == entries_.end()) return out;
        const auto& entries = found->second;
        auto next =
            std::upper_bound(entries.begin(), entries.end(), after,
                             [](auto offset, const auto& one) { return offset < one.offset; });
        for (; next != entries.end() && out.size() < max; ++next) out.push_back(*next);
        return out;
    }
    /// Nothing of this partition behind `after` was forgotten for the bound.
    bool complete(core::Partition partition, core::Offset after) const {
        const auto found = forgotten_.find(partition);
        return found == forgotten_.end() || found->second <= after;
    }

private:
    struct Place {
        core::Partition partition;
        core::ReceiptId subscription;
    };
    void forget_oldest() {
        const auto [partition, subscription] = order_.front();
        order_.pop_front();
        const auto found = entries_.find(subscription);
        forgotten_[partition] = found->second.front().offset;
        found->second.pop_front();
        if (found->second.empty()) entries_.erase(found);
    }

    const std::size_t entries_max_;
    std::map<core::ReceiptId, std::deque<Entry>> entries_;
    std::deque<Place> order_;                            ///< one for each entry, oldest first
    std::map<core::Partition, core::Offset> forgotten_;  ///< the highest of each partition
};

/// Long polling of receipt subscriptions. The first query about a subscription begins to read its
/// partition of `events`: an endpoint without polls reads nothing.
///
/// Made and destroyed on the executor's thread; ask() and end() from any.
class ReceiptPolls {
public:
    /// The most polls that wait: in all, of one subscription, and from one address, so that no
    /// client takes the places of the others.
    static constexpr std::size_t kPollsMax = 1'000;
    static constexpr std::size_t kPollsOfSubscriptionMax = 10;
    static constexpr std::size_t kPollsOfPeerMax = 100;
    static constexpr std::size_t kPageMax = 100;  ///< outcomes in one answer
    static constexpr std::size_t kOutcomesMax = 200'000;
    static constexpr core::Duration kReadAgain = std::chrono::seconds{1};

    struct Query {
        core::ReceiptId subscription;
        core::Offset after = -1;  ///< only outcomes behind it are returned
        core::Duration wait{};    ///< for the first outcome, if there is none yet
        net::PeerAddress peer{};  ///< the caller: limit_key()
    };
    struct Page {
        std::vector<ReceiptIndex::Entry> outcomes;
        /// False: some outcomes behind `after` may have been forgotten.
        bool complete = true;
    };
    /// Where too many polls wait at one subscription, the oldest is answered without an outcome: a
    /// client that polls again and again may have left it behind. Failures: too_many_requests (from
    /// this address), busy (too many of all), not_ready (the log is still being read, or away).
    using Answer = std::function<void(const Checked<Page>&)>;

    ReceiptPolls(core::Partition partitions, log::EventLog& log, core::Executor& executor,
                 const core::Clock& clock);

    /// Answers through `caller`, once.
    void ask(const Query& query, core::Executor& caller, Answer answer);
    /// Stops: answers all waiting polls now; later ones do not wait.
    void end();

private:
    struct Poll {
        Query query;
        core::Partition partition = 0;
        core::Executor* caller = nullptr;
        Answer answer;
    };

    void ask_here(Poll poll);
    std::optional<Failure> no_place_for(const net::PeerAddress& peer) const;
    void make_place_at(const core::ReceiptId& subscription);
    fold::TopicState& follow(core::Partition partition);
    void take(core::Partition partition, const core::RecordView& record);
    void caught_up(core::Partition partition);
    void answer_fresh();
    bool answer_if_any(const Poll& poll) const;
    void time_out(std::uint64_t number);
    void give_empty(const Poll& poll) const;
    static void reply(const Poll& poll, Checked<Page> page);

    const core::Partition partitions_;
    log::EventLog& log_;
    core::Executor& executor_;
    const core::Clock& clock_;
    ReceiptIndex index_{kOutcomesMax};
    std::map<std::uint64_t, Poll> waiting_;
    std::uint64_t asked_ = 0;
    std::set<core::ReceiptId> fresh_;  ///< have new outcomes since the last answers
    bool ended_ = false;

    core::Lifetime lifetime_;
    const core::Lifetime::Remote remote_{lifetime_.remote()};
    std::map<core::Partition, std::unique_ptr<fold::TopicState>> states_;  ///< of `events`
};

}  // namespace beckon::ingest
