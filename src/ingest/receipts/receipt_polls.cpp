#include "ingest/receipts/receipt_polls.hpp"

#include <algorithm>
#include <utility>

namespace beckon::ingest {

namespace {

/// When a place may have become free: a poll waits no longer than 25 s.
constexpr int kPlaceAgainSeconds = 10;

constexpr Failure kTooManyOfPeer{
    Problem::too_many_requests,
    "As many requests as may wait for receipts from one address wait already; let them be "
    "answered first, or name one receipt subscription in many messages (Push-Receipt).",
    kPlaceAgainSeconds};
constexpr Failure kTooMany{Problem::busy, "Too many requests wait for receipts; try again later.",
                           kPlaceAgainSeconds};
constexpr Failure kStillRead{Problem::not_ready,
                             "The receipts are still being read; try again later.", 1};

}  // namespace

ReceiptPolls::ReceiptPolls(core::Partition partitions, log::EventLog& log, core::Executor& executor,
                           const core::Clock& clock)
    : partitions_(partitions), log_(log), executor_(executor), clock_(clock), lifetime_(executor) {}

void ReceiptPolls::ask(const Query& query, core::Executor& caller, Answer answer) {
    remote_.post(
        [this, poll = Poll{.query = query,
                           .partition = core::partition_of(query.subscription, partitions_),
                           .caller = &caller,
                           .answer = std::move(answer)}] { ask_here(poll); });
}

void ReceiptPolls::ask_here(Poll poll) {
    const bool current = follow(poll.partition).current();
    if (current && answer_if_any(poll)) return;
    const bool at_once = poll.query.wait <= poll.query.wait.zero();
    if (ended_ || (current && at_once)) return give_empty(poll);
    make_place_at(poll.query.subscription);
    if (const auto failure = no_place_for(poll.query.peer)) return reply(poll, fail(*failure));
    const auto number = ++asked_;
    const auto wait = at_once ? core::Duration{kReadAgain} : poll.query.wait;
    waiting_.emplace(number, std::move(poll));
    executor_.post_after(wait, lifetime_.guard([this, number] { time_out(number); }));
}

/// The share of one address is checked first, so that an address that takes too much is refused for
/// that reason.
std::optional<Failure> ReceiptPolls::no_place_for(const net::PeerAddress& peer) const {
    const auto of_peer = std::count_if(waiting_.begin(), waiting_.end(), [&](const auto& one) {
        return one.second.query.peer == peer;
    });
    if (static_cast<std::size_t>(of_peer) >= kPollsOfPeerMax) return kTooManyOfPeer;
    if (waiting_.size() >= kPollsMax) return kTooMany;
    return std::nullopt;
}

void ReceiptPolls::make_place_at(const core::ReceiptId& subscription) {
    const auto is_one = [&](const auto& one) {
        return one.second.query.subscription == subscription;
    };
    const auto count = std::count_if(waiting_.begin(), waiting_.end(), is_one);
    if (static_cast<std::size_t>(count) < kPollsOfSubscriptionMax) return;
    const auto oldest = std::find_if(waiting_.begin(), waiting_.end(), is_one);
    give_empty(oldest->second);
    waiting_.erase(oldest);
}

fold::TopicState& ReceiptPolls::follow(core::Partition partition) {
    auto& state = states_[partition];
    if (state) return *state;
    state = std::make_unique<fold::TopicState>(
        fold::TopicState::Options{.folder = "ingest",
                                  .inputs = {{log::Topic::kEvents, partition}},
                                  .proof = fold::Proof::end},
        fold::TopicState::Context{.log = log_, .executor = executor_, .clock = clock_},
        fold::TopicState::Events{
            .apply = [this](const auto& from, const auto& record) { take(from.partition, record); },
            .cleared = [this, partition] { index_.clear(partition); },
            .caught_up = [this, partition] { caught_up(partition); }});
    state->start();
    return *state;
}

/// It reads only the headers of other events.
void ReceiptPolls::take(core::Partition partition, const core::RecordView& record) {
    auto reported = core::decode_receipt(record);
    if (!reported) return;
    const bool added = index_.add(partition, reported->to.id,
                                  {.offset = record.offset,
                                   .time = record.time,
                                   .message_id = std::move(reported->message_id),
                                   .reason = reported->reason});
    if (!added || !states_.at(partition)->complete()) return;
    if (fresh_.empty()) executor_.post(lifetime_.guard([this] { answer_fresh(); }));
    fresh_.insert(reported->to.id);
}

/// Answers the polls that waited for nothing but the end of the log.
void ReceiptPolls::caught_up(core::Partition partition) {
    std::erase_if(waiting_, [&](const auto& one) {
        const auto& poll = one.second;
        if (poll.partition != partition) return false;
        if (answer_if_any(poll)) return true;
        if (poll.query.wait > poll.query.wait.zero()) return false;
        give_empty(poll);
        return true;
    });
}

void ReceiptPolls::answer_fresh() {
    const auto fresh = std::exchange(fresh_, {});
    std::erase_if(waiting_, [&](const auto& one) {
        return fresh.contains(one.second.query.subscription) && answer_if_any(one.second);
    });
}

bool ReceiptPolls::answer_if_any(const Poll& poll) const {
    const auto& asked = poll.query;
    auto outcomes = index_.after(asked.subscription, asked.after, kPageMax);
    if (outcomes.empty()) return false;
    reply(poll, Page{.outcomes = std::move(outcomes),
                     .complete = index_.complete(poll.partition, asked.after)});
    return true;
}

void ReceiptPolls::time_out(std::uint64_t number) {
    const auto found = waiting_.find(number);
    if (found == waiting_.end()) return;
    give_empty(found->second);
    waiting_.erase(found);
}

void ReceiptPolls::give_empty(const Poll& poll) const {
    const auto state = states_.find(poll.partition);
    if (state == states_.end() || !state->second->current()) return reply(poll, fail(kStillRead));
    reply(poll,
          Page{.outcomes = {}, .complete = index_.complete(poll.partition, poll.query.after)});
}

void ReceiptPolls::reply(const Poll& poll, Checked<Page> page) {
    poll.caller->post([answer = poll.answer, page = std::move(page)] { answer(page); });
}

void ReceiptPolls::end() {
    remote_.post([this] {
        ended_ = true;
        for (const auto& [number, poll] : std::exchange(waiting_, {})) give_empty(poll);
    });
}

}  // namespace beckon::ingest
