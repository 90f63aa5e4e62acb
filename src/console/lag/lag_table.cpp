#include "console/lag/lag_table.hpp"

#include <algorithm>
#include <set>

namespace beckon::console {

namespace {

/// Kafka gives a position before the log's end is asked; a reset topic may even end below it.
core::Offset lag_of(const log::GroupPosition& one) {
    return std::max<core::Offset>(0, one.ends.end - one.position);
}

double rate(core::Offset records, core::Duration time) {
    const auto seconds = std::chrono::duration<double>{time}.count();
    return seconds > 0 ? std::max(0.0, static_cast<double>(records) / seconds) : 0;
}

}  // namespace

void LagTable::update(log::GroupsSnapshot snapshot, core::Timestamp now) {
    snapshot_ = std::move(snapshot);
    now_ = now;
    std::set<Key> groups;
    std::set<log::NamedPartition> partitions;
    for (const auto& one : snapshot_.positions) {
        remember(one);
        groups.insert({one.group, one.where});
        partitions.insert(one.where);
    }
    std::erase_if(series_, [&](const auto& item) { return !groups.contains(item.first); });
    std::erase_if(times_, [&](const auto& item) { return !partitions.contains(item.first); });
}

void LagTable::remember(const log::GroupPosition& one) {
    times_[one.where].learn(one.ends.end, now_);
    auto& series = series_[{one.group, one.where}];
    const bool moved = series.looks.empty() || series.looks.back().position != one.position;
    if (moved || lag_of(one) == 0) series.moved_at = now_;
    series.looks.push_back({now_, one.position, one.ends.end});
    if (series.looks.size() > kHistory) series.looks.pop_front();
}

std::vector<Probe> LagTable::wanted(std::size_t max) const {
    std::vector<std::pair<core::Offset, Probe>> unknown;
    std::set<log::NamedPartition> named;
    for (const auto& one : snapshot_.positions) {
        const auto first = std::max(one.position, one.ends.start);
        if (lag_of(one) == 0 || times_.at(one.where).at(first)) continue;
        if (named.insert(one.where).second) unknown.push_back({lag_of(one), {one.where, first}});
    }
    std::stable_sort(unknown.begin(), unknown.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Probe> probes;
    for (auto& [lag, probe] : unknown) {
        if (probes.size() < max) probes.push_back(std::move(probe));
    }
    return probes;
}

void LagTable::learn(const Probe& probe, core::Timestamp appended) {
    if (const auto at = times_.find(probe.where); at != times_.end()) {
        at->second.learn(probe.offset, appended);
    }
}

Facts LagTable::facts(const log::GroupPosition& one, const Series& series) const {
    Facts facts{.lag = lag_of(one), .owned = !one.owner.empty()};
    if (!facts.owned && owner_of_) facts.owned = !owner_of_(one.group, one.where).empty();
    facts.still = now_ - series.moved_at;
    const auto since = std::find_if(series.looks.begin(), series.looks.end(),
                                    [&](const Look& l) { return now_ - l.time <= kRateWindow; });
    facts.position_rate = rate(one.position - since->position, now_ - since->time);
    facts.append_rate = rate(one.ends.end - since->end, now_ - since->time);
    if (facts.lag == 0) return facts;
    const auto first = times_.at(one.where).at(std::max(one.position, one.ends.start));
    if (first) facts.behind = std::max(core::Duration::zero(), core::Duration{now_ - *first});
    return facts;
}

LagRow LagTable::row(const log::GroupPosition& one) const {
    const auto& series = series_.at({one.group, one.where});
    LagRow row;
    row.group = one.group;
    row.where = one.where;
    row.owner = one.owner.empty() && owner_of_ ? owner_of_(one.group, one.where) : one.owner;
    row.position = one.position;
    row.ends = one.ends;
    row.facts = facts(one, series);
    row.aged = row.facts.lag == 0 ||
               times_.at(one.where).at(std::max(one.position, one.ends.start)).has_value();
    row.status = status_of(row.facts);
    row.why = reason(row.status, row.facts);
    row.drain = time_to_drain(row.facts);
    const auto kept = snapshot_.retention.find(one.where.topic);
    const Retention retention{
        .start = one.ends.start,
        .position = one.position,
        .kept = kept == snapshot_.retention.end() ? core::Duration{} : kept->second};
    row.loss = loss_of(retention, row.facts);
    row.left = time_left(retention, row.facts);
    for (const auto& look : series.looks) {
        row.history.push_back(std::max<core::Offset>(0, look.end - look.position));
    }
    return row;
}

std::vector<LagRow> LagTable::rows() const {
    std::vector<LagRow> rows;
    rows.reserve(snapshot_.positions.size());
    for (const auto& one : snapshot_.positions) rows.push_back(row(one));
    return rows;
}

}  // namespace beckon::console
