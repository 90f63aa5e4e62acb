#include "reliability/history/diagram.hpp"

namespace beckon::reliability {

namespace {

using core::index_of;
using core::kAllMilestones;
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
