#include "reliability/history/history.hpp"

#include "core/bytes.hpp"

#include <algorithm>

namespace beckon::reliability {

using core::append_fixed;
using core::ByteReader;

namespace {

using core::index_of;
using core::kAllMilestones;

constexpr std::uint8_t kForm = 1;

std::uint64_t to_number(Timestamp time) {
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
}
Timestamp to_time(std::uint64_t number) {
    return Timestamp{std::chrono::milliseconds{static_cast<std::int64_t>(number)}};
}

}  // namespace

bool History::fits(Milestone milestone) const {
    return std::all_of(kAllMilestones.begin(), kAllMilestones.end(), [&](Milestone known) {
        return !has(known) || go_together(known, milestone);
    });
}

Effect History::add(const Reached& reached, Timestamp expires, Timestamp appended) {
    const auto milestone = reached.milestone;
    if (!fits(milestone)) return Effect::refused;
    const bool repeated = has(milestone);
    const auto before = current();
    expires_ = std::max(expires_, expires);
    changed_ = std::max(changed_, appended);
    // Nothing is reported before it happens: a clock that is ahead is put right by the log's.
    const auto at = std::min(reached.at, appended);
    at_[milestone] = repeated ? std::min(at_[milestone], at) : at;
    if (repeated) return Effect::repeated;
    seen_ = static_cast<std::uint16_t>(seen_ | 1U << index_of(milestone));
    if (is_terminal(milestone)) ended_ = appended;
    return !before || rank(milestone) > rank(*before) ? Effect::advanced : Effect::filled;
}

std::optional<Milestone> History::current() const {
    std::optional<Milestone> furthest;
    for (const auto milestone : kAllMilestones) {
        if (!has(milestone)) continue;
        if (!furthest || rank(milestone) > rank(*furthest)) furthest = milestone;
    }
    return furthest;
}

std::optional<Timestamp> History::ended() const {
    const auto last = current();
    if (!last || !is_terminal(*last)) return std::nullopt;
    return ended_;
}

std::vector<Reached> History::steps() const {
    std::vector<Reached> steps;
    for (const auto milestone : kAllMilestones) {
        if (has(milestone)) steps.push_back({milestone, at(milestone)});
    }
    std::sort(steps.begin(), steps.end(), [](const Reached& a, const Reached& b) {
        return rank(a.milestone) < rank(b.milestone);
    });
    return steps;
}

void History::append_to(std::string& out) const {
    append_fixed(out, kForm);
    append_fixed(out, ended() ? to_number(changed_ + kKept) : 0);
    append_fixed(out, to_number(changed_));
    append_fixed(out, to_number(expires_));
    append_fixed(out, to_number(ended_));
    append_fixed(out, seen_);
    for (const auto milestone : kAllMilestones) {
        if (has(milestone)) append_fixed(out, to_number(at(milestone)));
    }
}

std::optional<History> History::parse(std::string_view bytes) {
    ByteReader reader{bytes};
    if (reader.fixed<std::uint8_t>() != kForm) return std::nullopt;
    reader.fixed<std::uint64_t>();  // when to drop it: follows from the rest
    const auto changed = to_time(reader.fixed<std::uint64_t>());
    const auto expires = to_time(reader.fixed<std::uint64_t>());
    History history{expires, changed};
    history.ended_ = to_time(reader.fixed<std::uint64_t>());
    history.seen_ = reader.fixed<std::uint16_t>();
    if (history.seen_ >> core::kMilestones != 0) return std::nullopt;
    for (const auto milestone : kAllMilestones) {
        if (history.has(milestone)) history.at_[milestone] = to_time(reader.fixed<std::uint64_t>());
    }
    if (!reader.finished()) return std::nullopt;
    return history;
}

namespace {

using core::kMilestones;

/// Ends that a message may come to from everywhere on its way, and why.
struct EndFromAnywhere {
    Milestone end;
    std::string_view why;
};
constexpr std::array<EndFromAnywhere, 3> kEndsFromAnywhere = {
    {{Milestone::expired, "TTL"}, {Milestone::replaced, "Topic"}, {Milestone::deleted, "DELETE"}}};

using Matrix = std::array<std::array<bool, kMilestones>, kMilestones>;

/// Warshall's closure of the edges and of the ends from anywhere.
Matrix closure() {
    Matrix reach{};
    for (const auto& edge : kEdges) reach[index_of(edge.from)][index_of(edge.to)] = true;
    for (const auto from : kAllMilestones) {
        if (is_terminal(from)) continue;
        for (const auto& [end, why] : kEndsFromAnywhere)
            reach[index_of(from)][index_of(end)] = true;
    }
    for (std::size_t via = 0; via < kMilestones; ++via) {
        for (auto& row : reach) {
            if (!row[via]) continue;
            for (std::size_t to = 0; to < kMilestones; ++to) row[to] = row[to] || reach[via][to];
        }
    }
    return reach;
}

}  // namespace

int rank(Milestone milestone) {
    switch (milestone) {
        case Milestone::received: return 0;
        case Milestone::int_transmitted: return 1;
        case Milestone::stored:  // also after int_transmitted, over `received`
        case Milestone::int_accepted: return 2;
        case Milestone::retrieved:
        case Milestone::transmitted: return 3;
        case Milestone::accepted: return 4;
        case Milestone::bridge_transmitted:
        case Milestone::delivered:
        case Milestone::decryption_error:
        case Milestone::not_delivered:
        case Milestone::expired:
        case Milestone::errored:
        case Milestone::replaced:
        case Milestone::deleted: return 5;
    }
    return 5;
}

bool leads_to(Milestone from, Milestone to) {
    static const Matrix reach = closure();
    return reach[index_of(from)][index_of(to)];
}

bool go_together(Milestone one, Milestone other) {
    return one == other || leads_to(one, other) || leads_to(other, one);
}

std::string diagram_text() {
    std::string text = "stateDiagram-v2\n    [*] --> received\n";
    const auto arrow = [&text](std::string_view from, std::string_view to, std::string_view why) {
        text.append("    ").append(from).append(" --> ").append(to);
        if (!why.empty()) text.append(" : ").append(why);
        text += '\n';
    };
    for (const auto& edge : kEdges) {
        arrow(to_string(edge.from), to_string(edge.to),
              edge.maker == Maker::endpoint ? "endpoint" : "edge");
    }
    for (const auto from : kAllMilestones) {
        if (is_terminal(from)) continue;
        for (const auto& [end, why] : kEndsFromAnywhere)
            arrow(to_string(from), to_string(end), why);
    }
    for (const auto end : kAllMilestones) {
        if (is_terminal(end)) arrow(to_string(end), "[*]", "");
    }
    return text;
}

}  // namespace beckon::reliability
