#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "fold/topic_state.hpp"
#include "ingest/api/errors.hpp"
#include "ingest/receipts/receipt_index.hpp"
#include "log/event_log.hpp"
#include "net/peer_address.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace beckon::ingest {

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
