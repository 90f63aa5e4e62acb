#include "console/lag/lag_table.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

namespace beckon::console {

namespace {

constexpr std::array<std::string_view, 4> kReadingRoles{"edge", "endpoint", "reliability", "retry"};

/// Kafka gives a position before the log's end is asked; a reset topic may even end below it.
core::Offset lag_of(const log::GroupPosition& one) {
    return std::max<core::Offset>(0, one.ends.end - one.position);
}

double rate(core::Offset records, core::Duration time) {
    const auto seconds = std::chrono::duration<double>{time}.count();
    return seconds > 0 ? std::max(0.0, static_cast<double>(records) / seconds) : 0;
}

/// The first record that the group has not read and the log still has.
core::Offset first_waiting(const log::GroupPosition& one) {
    return std::max(one.position, one.ends.start);
}

log::GroupsSnapshot with_views(log::GroupsSnapshot snapshot, const Views& views) {
    if (views.next.empty()) return snapshot;
    std::vector<log::GroupPosition> positions;
    for (auto& shared : snapshot.positions) {
        if (shared.group != views.group) {
            positions.push_back(std::move(shared));
            continue;
        }
        for (const auto& [process, next] : views.next) {
            const auto partition = static_cast<std::size_t>(shared.where.partition);
            if (partition >= next.size()) continue;
            auto& own = positions.emplace_back(shared);
            own.group += '/' + process;
            own.position = next[partition];
        }
    }
    std::ranges::sort(positions, [](const auto& a, const auto& b) {
        return std::tie(a.group, a.where) < std::tie(b.group, b.where);
    });
    snapshot.positions = std::move(positions);
    return snapshot;
}

}  // namespace

IsOwn own_groups(std::string prefix) {
    return [prefix = std::move(prefix)](std::string_view group) {
        if (!group.starts_with(prefix)) return false;
        const auto role = group.substr(prefix.size());
        return std::ranges::any_of(kReadingRoles, [&](std::string_view one) {
            return role.starts_with(one) && (role.size() == one.size() || role[one.size()] == '/');
        });
    };
}

DelayOf delays_of_tiers(std::vector<std::chrono::seconds> delays, std::string prefix) {
    return [delays = std::move(delays),
            prefix = std::move(prefix)](const log::NamedPartition& where) -> core::Duration {
        const std::string_view name = where.topic;
        if (!name.starts_with(prefix)) return {};
        const auto topic = log::Topic::parse(name.substr(prefix.size()));
        for (std::size_t tier = 0; topic && tier < delays.size(); ++tier) {
            if (*topic == log::Topic::retry(static_cast<int>(tier))) return delays[tier];
        }
        return {};
    };
}

bool same_place(const LagRow& a, const LagRow& b) {
    return a.where.partition == b.where.partition && a.where.topic == b.where.topic &&
           a.group == b.group;
}

bool same_news(const LagRow& a, const LagRow& b) {
    const auto news = [](const LagRow& row) {
        return std::tie(row.status, row.why, row.owner, row.position, row.ends.start, row.ends.end,
                        row.aged, row.facts.lag, row.facts.behind, row.facts.position_rate,
                        row.facts.append_rate, row.drain, row.loss, row.left, row.history);
    };
    return news(a) == news(b);
}

void LagTable::update(log::GroupsSnapshot snapshot, core::Timestamp now) {
    snapshot_ = with_views(std::move(snapshot), context_.views_of ? context_.views_of() : Views{});
    now_ = now;
    ++update_;
    known_.clear();
    for (const auto& one : snapshot_.positions) known_.push_back(remember(one));
    const auto gone = [this](const auto& item) { return item.second.update != update_; };
    std::erase_if(series_, gone);
    std::erase_if(times_, gone);
}

LagTable::Known LagTable::remember(const log::GroupPosition& one) {
    auto& times = times_[one.where];
    times.update = update_;
    times.known.learn(one.ends.end, now_);
    auto& series = series_[{one.group, one.where}];
    series.update = update_;
    const bool moved = series.samples.empty() || series.samples.back().position != one.position;
    if (moved || lag_of(one) == 0) series.moved_at = now_;
    series.samples.push_back({now_, one.position, one.ends.end});
    if (series.samples.size() > kHistory) series.samples.pop_front();
    return {&series, &times.known};
}

std::vector<Probe> LagTable::wanted(std::size_t max) const {
    std::vector<std::pair<core::Offset, Probe>> unknown;
    std::set<log::NamedPartition> named;
    for (std::size_t i = 0; i < known_.size(); ++i) {
        const auto& one = snapshot_.positions[i];
        const auto first = first_waiting(one);
        if (lag_of(one) == 0 || known_[i].times->at(first)) continue;
        if (named.insert(one.where).second) unknown.push_back({lag_of(one), {one.where, first}});
    }
    std::ranges::stable_sort(unknown,
                             [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Probe> probes;
    for (auto& [lag, probe] : unknown) {
        if (probes.size() < max) probes.push_back(std::move(probe));
    }
    return probes;
}

void LagTable::learn(const Probe& probe, core::Timestamp appended) {
    if (const auto at = times_.find(probe.where); at != times_.end()) {
        at->second.known.learn(probe.offset, appended);
    }
}

Facts LagTable::facts(const log::GroupPosition& one, const Known& known,
                      const Reader& reader) const {
    const auto& [series, times] = known;
    Facts facts{.lag = lag_of(one),
                .unmoved = now_ - series->moved_at,
                .owned = !reader.name.empty(),
                .dead = reader.dead};
    const auto since = std::ranges::find_if(
        series->samples, [&](const Sample& l) { return now_ - l.time <= kRateWindow; });
    facts.position_rate = rate(one.position - since->position, now_ - since->time);
    facts.append_rate = rate(one.ends.end - since->end, now_ - since->time);
    if (context_.delay_of) facts.delay = context_.delay_of(one.where);
    if (facts.lag == 0) return facts;
    const auto first = times->at(first_waiting(one));
    if (first) facts.behind = std::max(core::Duration::zero(), core::Duration{now_ - *first});
    return facts;
}

LagRow LagTable::row(const log::GroupPosition& one, const Known& known) const {
    LagRow row;
    row.group = one.group;
    row.where = one.where;
    Reader reader{.name = one.owner};
    if (one.owner.empty() && context_.reader_of) {
        reader = context_.reader_of(one.group, one.where);
    }
    row.own = !context_.is_own || context_.is_own(one.group);
    row.owner = reader.name;
    row.position = one.position;
    row.ends = one.ends;
    row.facts = facts(one, known, reader);
    row.aged = row.facts.lag == 0 || known.times->at(first_waiting(one)).has_value();
    row.status = status_of(row.facts);
    row.why = reason(row.status, row.facts);
    if (!row.is_delayed()) row.drain = time_to_drain(row.facts);
    const auto kept = snapshot_.retention.find(one.where.topic);
    const Retention retention{
        .start = one.ends.start,
        .position = one.position,
        .kept = kept == snapshot_.retention.end() ? core::Duration{} : kept->second};
    row.loss = loss_of(retention, row.facts);
    row.left = time_left(retention, row.facts);
    row.history = history(*known.series);
    return row;
}

std::vector<core::Offset> LagTable::history(const Series& series) {
    const auto lag = [](const Sample& poll) {
        return std::max<core::Offset>(0, poll.end - poll.position);
    };
    const auto& samples = series.samples;
    std::vector<core::Offset> lags;
    if (std::ranges::all_of(samples, [&](const auto& l) { return lag(l) == 0; })) {
        return lags;
    }
    std::ranges::transform(samples, std::back_inserter(lags), lag);
    return lags;
}

std::vector<LagRow> LagTable::rows() const {
    std::vector<LagRow> rows;
    rows.reserve(known_.size());
    for (std::size_t i = 0; i < known_.size(); ++i) {
        rows.push_back(row(snapshot_.positions[i], known_[i]));
    }
    return rows;
}

LagPagePtr poll(LagTable& table, log::Groups& groups, const core::Clock& clock,
                const std::stop_token& stop) {
    const auto page = std::make_shared<LagPage>();
    const auto began = clock.mono();
    auto snapshot = groups.poll(stop);
    page->at = clock.wall();
    if (snapshot) {
        table.update(std::move(*snapshot), page->at);
        for (const auto& probe : table.wanted(kProbesMax)) {
            const auto appended = groups.append_time(probe.where, probe.offset, stop);
            if (appended && *appended) table.learn(probe, **appended);
        }
        page->rows = table.rows();
        page->problems = table.problems();
    } else {
        page->problems.push_back(snapshot.error().message);
    }
    page->took = std::chrono::floor<std::chrono::milliseconds>(clock.mono() - began);
    return page;
}

}  // namespace beckon::console
