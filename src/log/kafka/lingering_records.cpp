#include "log/kafka/lingering_records.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace beckon::log::kafka {

namespace {

void append(std::vector<Publishing>& out, std::vector<Publishing> records) {
    out.insert(out.end(), std::make_move_iterator(records.begin()),
               std::make_move_iterator(records.end()));
}

}  // namespace

void LingeringRecords::come_from(std::shared_ptr<Senders> senders) {
    const std::scoped_lock lock{mutex_};
    senders_ = std::move(senders);
}

/// Of a batch that begins to wait now.
Batching LingeringRecords::batching(SteadyTime::duration linger, SteadyTime now) const {
    return {.since = now,
            .wait_max = kWaitMax,
            .linger = linger,
            .others_could_join = !senders_ || senders_->others_could_join(now)};
}

LingeringRecords::Held LingeringRecords::hold(Publishing& one, SteadyTime::duration linger,
                                              SteadyTime now) {
    const std::scoped_lock lock{mutex_};
    const bool closes = batching(linger, now).closes(now);
    if (closes && held_ == 0 && !passing_) return Held::no;
    auto& group = groups_.try_emplace(one.where, Group{now, {}}).first->second;
    group.records.push_back(std::move(one));
    ++held_;
    return closes || held_ >= kLingeringMax ? Held::due : Held::waits;
}

void LingeringRecords::pass_on_due(SteadyTime::duration linger, SteadyTime now,
                                   const std::function<void(Publishing)>& pass_on) {
    {
        const std::scoped_lock lock{mutex_};
        if (passing_) return;
        passing_ = true;
    }
    for (;;) {
        auto due = take_due(linger, now);
        if (due.empty()) return;
        std::size_t passed = 0;
        try {
            while (passed < due.size()) pass_on(std::move(due[passed++]));
        } catch (...) {
            put_back(std::span{due}.subspan(passed), now);
            throw;
        }
    }
}

/// The caller passes on no further ones.
void LingeringRecords::put_back(std::span<Publishing> records, SteadyTime now) {
    const std::scoped_lock lock{mutex_};
    passing_ = false;
    // The last one first: each goes in front of those that have come since.
    for (auto one = records.rbegin(); one != records.rend(); ++one) {
        auto& group = groups_.try_emplace(one->where, Group{now, {}}).first->second;
        group.records.insert(group.records.begin(), std::move(*one));
    }
    held_ += records.size();
}

/// None: the caller passes on no further ones.
std::vector<Publishing> LingeringRecords::take_due(SteadyTime::duration linger, SteadyTime now) {
    std::vector<Publishing> out;
    const std::scoped_lock lock{mutex_};
    const bool full = held_ >= kLingeringMax;
    auto next = batching(linger, now);
    for (auto group = groups_.begin(); group != groups_.end();) {
        const auto at = group++;
        next.since = std::min(at->second.since, now);  // another thread may have begun it since
        if (!full && !next.closes(now)) continue;
        append(out, std::move(at->second.records));
        groups_.erase(at);
    }
    held_ -= out.size();
    passing_ = !out.empty();
    return out;
}

std::vector<Publishing> LingeringRecords::take_all() {
    std::vector<Publishing> out;
    const std::scoped_lock lock{mutex_};
    for (auto& [where, group] : groups_) append(out, std::move(group.records));
    groups_.clear();
    held_ = 0;
    return out;
}

bool LingeringRecords::empty() const {
    const std::scoped_lock lock{mutex_};
    return groups_.empty();
}

}  // namespace beckon::log::kafka
