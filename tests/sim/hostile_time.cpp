#include "sim/hostile_time.hpp"

#include <algorithm>

namespace beckon::sim {

using namespace std::chrono_literals;

namespace {

/// A step back that is shorter than the time since the last report of a process goes unnoticed, and
/// so does a time between two steps (docs/decisions/0061-time-is-bounded-by-evidence.md).
constexpr core::Duration kReportEvery = 10s;
/// How far behind the log a reader may be: its newest record is taken to be as old.
constexpr core::Duration kReadLag = 10s;
/// Clocks drift, and the correction after a step forward wears off, by this part of the time that
/// passes.
constexpr int kDriftDivisor = 500;
constexpr int kLeaderDriftMax = 200;
constexpr std::chrono::milliseconds kWrongAtFirst = 48h;

}  // namespace

HostileTime::Leader& HostileTime::leader(const log::TopicPartition& where) {
    const auto [at, is_new] = leaders_.try_emplace(where);
    if (is_new) {
        const auto within = [this](std::int64_t most) {
            return std::uniform_int_distribution<std::int64_t>{-most, most}(random_);
        };
        at->second.drift = static_cast<int>(within(kLeaderDriftMax));
        at->second.steps.push_back(
            {true_clock_.mono(), std::chrono::milliseconds{within(kWrongAtFirst.count())}});
    }
    return at->second;
}

core::Timestamp HostileTime::stamp(const log::TopicPartition& where) {
    leader(where);
    const auto now = true_clock_.mono();
    return true_clock_.wall() +
           std::chrono::floor<std::chrono::milliseconds>(ahead(where, now, now).low);
}

void HostileTime::step(const log::TopicPartition& where, std::chrono::milliseconds by) {
    auto& steps = leader(where).steps;
    steps.push_back({true_clock_.mono(), steps.back().ahead + by});
}

HostileTime::Range HostileTime::ahead(const log::TopicPartition& where, core::MonoTime from,
                                      core::MonoTime to) const {
    const auto found = leaders_.find(where);
    if (found == leaders_.end()) return {};
    const auto& [drift, steps] = found->second;
    const auto first = steps.front().at;
    const auto drifted = [first, drift = drift](core::MonoTime at) {
        return (at - first) / 1'000'000 * drift;
    };
    Range out{core::Duration::max(), core::Duration::min()};
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const auto begin = std::max(from, steps[i].at);
        const auto end = i + 1 < steps.size() ? std::min(to, steps[i + 1].at) : to;
        if (end < begin) continue;
        for (const auto at : {begin, end}) {
            out.low = std::min(out.low, steps[i].ahead + drifted(at));
            out.high = std::max(out.high, steps[i].ahead + drifted(at));
        }
    }
    return out;
}

core::Duration HostileTime::slack(const log::TopicPartition& where, core::Duration lived) const {
    const auto steps = leaders_.contains(where) ? leaders_.at(where).steps.size() : 0;
    return 2 * kReportEvery + kReadLag * steps + lived / kDriftDivisor;
}

/// A home never judges a message by a clock that is ahead of the one that stamped it. One that was
/// opened later knows only what the leader says then.
bool HostileTime::may_be_over(const Life& life) const {
    const auto now = true_clock_.mono();
    const auto stamped = ahead(life.where, life.published, life.answered).low;
    auto judged =
        ahead(life.where, life.published, std::min(now, life.answered + 2 * kReportEvery)).high;
    const auto served = served_since_.find(life.where.partition);
    if (served == served_since_.end()) return false;  // nobody could judge
    for (const auto start : served->second) {
        if (start < life.published) continue;
        const auto learned = std::min(now, start + 2 * kReportEvery);
        judged = std::max(judged, ahead(life.where, start, learned).high);
    }
    const auto lived = now - life.published;
    return lived + (judged - stamped) + slack(life.where, lived) >= life.ttl;
}

/// No process judges by a clock that is behind the lowest that the leader's ever was.
bool HostileTime::must_be_over(const Life& life) const {
    const auto now = true_clock_.mono();
    const auto stamped = ahead(life.where, life.published, life.answered).high;
    const auto judged = ahead(life.where, core::MonoTime{}, now).low;
    const auto lived = now - life.answered;
    return lived - (stamped - judged) - slack(life.where, lived) >= life.ttl;
}

std::string HostileTime::story(const Life& life) const {
    const auto seconds = [](core::Duration span) {
        return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(span).count()) +
               " s";
    };
    std::string out = " (it wanted " + seconds(life.ttl) + ", it is " +
                      seconds(true_clock_.mono() - life.published) +
                      " old; the leader was ahead by";
    for (const auto& step : leaders_.at(life.where).steps) {
        out += " " + seconds(step.ahead) + " from " + seconds(step.at - life.published);
    }
    out += "; homes started at";
    if (const auto served = served_since_.find(life.where.partition); served != served_since_.end())
        for (const auto start : served->second) out += " " + seconds(start - life.published);
    return out + ")";
}

core::Timestamp HostileTime::latest(const log::TopicPartition& where) const {
    const auto most = ahead(where, core::MonoTime{}, true_clock_.mono()).high;
    return true_clock_.wall() + std::chrono::ceil<std::chrono::milliseconds>(most) +
           std::chrono::milliseconds{1};
}

core::Timestamp HostileTime::latest_since(const log::TopicPartition& where,
                                          core::MonoTime from) const {
    const auto now = true_clock_.mono();
    auto most = ahead(where, now, now).high;
    if (const auto found = leaders_.find(where); found != leaders_.end()) {
        // It says most just before it is set back.
        const auto& steps = found->second.steps;
        for (std::size_t i = 1; i < steps.size(); ++i) {
            if (steps[i].at <= from) continue;
            const auto before = steps[i].at - core::Duration{1};
            most = std::max(most, ahead(where, before, before).high - (now - before));
        }
    }
    return true_clock_.wall() + std::chrono::ceil<std::chrono::milliseconds>(most);
}

}  // namespace beckon::sim
