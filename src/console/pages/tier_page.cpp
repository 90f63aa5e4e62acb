#include "console/pages/tier_page.hpp"

#include "core/json_text.hpp"
#include "core/lifetime.hpp"
#include "log/read_partition.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace beckon::console {

namespace {

using nlohmann::json;

constexpr std::chrono::seconds kAskEvery{5};
/// Each partition is a query to a broker: of many, none more often than this allows.
constexpr std::chrono::milliseconds kPerPartition{20};

json time_left(const std::optional<core::Duration>& time) {
    if (!time) return nullptr;
    return std::max(0.0, std::chrono::duration<double>{*time}.count());
}

json row_json(core::Offset waiting, core::Offset due,
              const std::optional<core::Duration>& until_due) {
    const bool overdue = until_due && *until_due < core::Duration::zero();
    return {{"waiting", waiting},
            {"due", due},
            {"overdue_seconds", overdue ? time_left(-*until_due) : json(0)},
            {"next_due_seconds", time_left(until_due)}};
}

}  // namespace

TierPage::TierPage(std::vector<std::chrono::seconds> tiers, core::Partition partitions,
                   log::EventLog& log, core::Executor& executor, core::ShownClock& clock)
    : tiers_(std::move(tiers)),
      partitions_(partitions),
      log_(log),
      executor_(executor),
      clock_(clock),
      lifetime_(executor),
      state_({.folder = "console",
              .inputs = log::all_of(log::Topic::kRetryDone, partitions),
              .proof = fold::Proof::end},
             {.log = log, .executor = executor, .clock = clock},
             {.apply =
                  [this](const auto&, const core::RecordView& record) {
                      if (auto done = retry::decode_done(record)) done_[done->partition] = *done;
                      // It was written a moment ago.
                      if (state_.complete()) clock_.learn(record.time);
                  },
              .cleared = [this] { done_.clear(); }}) {
    state_.start();
}

retry::DoneRecord::Tier TierPage::done(int tier, core::Partition partition) const {
    const auto record = done_.find(partition);
    if (record == done_.end()) return {};
    const auto found = record->second.tiers.find(tier);
    return found == record->second.tiers.end() ? retry::DoneRecord::Tier{} : found->second;
}

void TierPage::ask_ends() {
    std::vector<log::TopicPartition> where;
    for (std::size_t tier = 0; tier < tiers_.size(); ++tier) {
        const auto of_tier = log::all_of(log::Topic::retry(static_cast<int>(tier)), partitions_);
        where.insert(where.end(), of_tier.begin(), of_tier.end());
    }
    answers_missing_ = where.size();
    ask_again_at_ = clock_.mono() + std::max<core::Duration>(
                                        kAskEvery, kPerPartition * static_cast<int>(where.size()));
    for (const auto one : where) {
        core::ask_while(
            lifetime_,
            [&](core::Executor& executor, auto done) { log_.ends(one, executor, std::move(done)); },
            [this, one](const core::Result<log::Ends>& ends) {
                --answers_missing_;
                if (!ends) return;
                auto& waiting = waiting_[one];
                waiting.end = ends->end;
                waiting.times.learn(ends->end, clock_.wall());
            });
    }
}

void TierPage::read_first(log::TopicPartition where, core::Offset first) {
    auto& waiting = waiting_[where];
    if (waiting.first == first) return;
    waiting.first = first;
    waiting.appended.reset();
    waiting.scan = std::make_unique<log::RangeScan>(
        log_, where, log::Range{.from = first}, executor_,
        [&waiting](const core::RecordView& record) {
            waiting.appended = record.time;
            waiting.times.learn(record.offset, record.time);
            return log::Next::stop;  // one record is all that is wanted
        },
        [&waiting](const auto& read) {
            if (!read) waiting.first = -1;  // the next page asks again
        });
}

TierPage::Row TierPage::row(int tier, core::Partition partition) {
    const log::TopicPartition where{log::Topic::retry(tier), partition};
    const auto known = waiting_.find(where);
    if (known == waiting_.end()) return {};
    const auto finished = done(tier, partition).finished;
    auto& waiting = known->second;
    Row row{.waiting = std::max<core::Offset>(0, waiting.end - finished.low)};
    for (const auto& range : finished.above) row.waiting -= range.end - range.begin;
    row.waiting = std::max<core::Offset>(0, row.waiting);
    if (row.waiting == 0) return row;
    read_first(where, finished.low);
    if (!waiting.appended) return row;
    const auto delay = tiers_[static_cast<std::size_t>(tier)];
    row.until_due = *waiting.appended + delay - clock_.wall();
    if (*row.until_due <= core::Duration::zero()) {
        row.due = std::clamp<core::Offset>(
            waiting.times.until(clock_.wall() - delay, finished.low, waiting.end), 1, row.waiting);
    }
    return row;
}

std::string TierPage::json(const std::optional<std::size_t>& dead) {
    if (!state_.current()) return {};
    if (answers_missing_ == 0 && clock_.mono() >= ask_again_at_) ask_ends();
    if (waiting_.empty()) return {};
    auto reported = nlohmann::json::array();
    console::TierFacts facts;
    for (std::size_t tier = 0; tier < tiers_.size(); ++tier) {
        Row sum;
        auto partitions = nlohmann::json::array();
        for (core::Partition p = 0; p < partitions_; ++p) {
            const auto one = row(static_cast<int>(tier), p);
            sum.waiting += one.waiting;
            sum.due += one.due;
            if (one.until_due && (!sum.until_due || *one.until_due < *sum.until_due)) {
                sum.until_due = one.until_due;
            }
            if (one.waiting == 0) continue;
            auto text = row_json(one.waiting, one.due, one.until_due);
            text["partition"] = p;
            partitions.push_back(std::move(text));
        }
        facts.waiting += static_cast<std::size_t>(sum.waiting);
        facts.due += static_cast<std::size_t>(sum.due);
        if (sum.until_due) facts.overdue = std::max(facts.overdue, -*sum.until_due);
        auto text = row_json(sum.waiting, sum.due, sum.until_due);
        text["topic"] = log::Topic::retry(static_cast<int>(tier)).name();
        text["delay_seconds"] = tiers_[tier].count();
        text["partitions"] = std::move(partitions);
        reported.push_back(std::move(text));
    }
    facts_ = facts;
    return core::json_text(nlohmann::json{{"tiers", std::move(reported)},
                                          {"dead", dead ? nlohmann::json(*dead) : nullptr}});
}

}  // namespace beckon::console
