#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/receipt.hpp"
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

/// Long polling of receipt subscriptions. A partition of `events` is read from the first query
/// about one of its subscriptions on: an endpoint that nobody asks reads nothing.
///
/// Made and destroyed on the executor's thread; ask() and end() from any.
class ReceiptPolls {
public:
    /// That wait: all, those of one subscription, and those from one address, so that nobody takes
    /// the places of all others.
    static constexpr std::size_t kPollsMax = 1'000;
    static constexpr std::size_t kPollsOfSubscriptionMax = 10;
    static constexpr std::size_t kPollsOfPeerMax = 100;
    static constexpr std::size_t kPageMax = 100;  ///< outcomes in one answer
    static constexpr std::size_t kOutcomesMax = 200'000;
    static constexpr core::Duration kReadAgain = std::chrono::seconds{1};

    struct Query {
        core::ReceiptId subscription;
        core::Offset after = -1;  ///< outcomes behind it are wanted
        core::Duration wait{};    ///< for the first, if there is none
        net::PeerAddress peer{};  ///< who asks: limit_key()
    };
    struct Page {
        std::vector<ReceiptIndex::Entry> outcomes;
        /// False: outcomes that stood behind `after` may have been forgotten.
        bool complete = true;
    };
    /// Where too many wait at one subscription, the oldest of them is answered without an outcome:
    /// who asks again and again may have gone. Failures: too_many_requests (from this address),
    /// busy (too many of all), not_ready (the log is still being read, or away).
    using Answer = std::function<void(const Checked<Page>&)>;

    ReceiptPolls(core::Partition partitions, log::EventLog& log, core::Executor& executor);
    ~ReceiptPolls();
    ReceiptPolls(const ReceiptPolls&) = delete;
    ReceiptPolls& operator=(const ReceiptPolls&) = delete;

    /// Answers through `caller`, once.
    void ask(const Query& query, core::Executor& caller, Answer answer);
    /// Whoever waits is answered now, and nobody waits any more: a stop.
    void end();

private:
    struct Source {
        std::unique_ptr<log::PartitionReader> reader;
        core::Offset next = 0;   ///< where a reader begins that is opened again
        bool caught_up = false;  ///< everything that stood there at the first query is read
    };
    struct Poll {
        Query query;
        core::Partition partition = 0;
        core::Executor* caller = nullptr;
        Answer answer;
    };

    void ask_here(Poll poll);
    std::optional<Failure> no_place_for(const net::PeerAddress& peer) const;
    void make_place_at(const core::ReceiptId& subscription);
    Source& open(core::Partition partition);
    void read(core::Partition partition);
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
    ReceiptIndex index_{kOutcomesMax};
    std::map<core::Partition, Source> sources_;
    std::map<std::uint64_t, Poll> waiting_;
    std::uint64_t asked_ = 0;
    std::set<core::ReceiptId> fresh_;  ///< have new outcomes since the last answers
    bool ended_ = false;

    core::Lifetime lifetime_;
    const core::Lifetime::Remote remote_{lifetime_.remote()};
};

}  // namespace beckon::ingest
