#include "reliability/history/history.hpp"
#include "reliability/milestone_texts.hpp"

#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include <catch2/catch.hpp>

using namespace beckon;
using core::kAllMilestones;
using core::Milestone;
using namespace reliability;

TEST_CASE("every milestone has a name of its own, and parses back from it") {
    std::set<std::string_view> names;
    for (const auto milestone : kAllMilestones) {
        CAPTURE(milestone);
        CHECK(core::parse_milestone(to_string(milestone)) == milestone);
        CHECK(names.insert(to_string(milestone)).second);
    }
    CHECK_FALSE(core::parse_milestone("transmitted_webpush"));
    CHECK_FALSE(core::parse_milestone(""));
}

TEST_CASE("no edge leaves a terminal milestone, and eight are terminal") {
    std::size_t terminal = 0;
    for (const auto milestone : kAllMilestones) terminal += is_terminal(milestone) ? 1 : 0;
    CHECK(terminal == 8);
    for (const auto& edge : kEdges) CHECK_FALSE(is_terminal(edge.from));
}

TEST_CASE("the table has no edge twice") {
    std::set<std::pair<Milestone, Milestone>> edges;
    for (const auto& edge : kEdges) CHECK(edges.emplace(edge.from, edge.to).second);
}

TEST_CASE("every edge but the one back to received goes up in rank") {
    for (const auto& edge : kEdges) {
        CAPTURE(edge.from, edge.to);
        CHECK((rank(edge.to) > rank(edge.from)) == (edge.to != Milestone::received));
    }
}

TEST_CASE("milestones of one message have different ranks") {
    for (const auto one : kAllMilestones) {
        for (const auto other : kAllMilestones) {
            CAPTURE(one, other);
            if (one != other && rank(one) == rank(other)) CHECK_FALSE(go_together(one, other));
        }
    }
}

TEST_CASE(
    "every milestone that is no end can expire, be replaced and be deleted, and nothing follows an "
    "end") {
    for (const auto milestone : kAllMilestones) {
        CAPTURE(milestone);
        for (const auto end : {Milestone::expired, Milestone::replaced, Milestone::deleted}) {
            CHECK(leads_to(milestone, end) == !is_terminal(milestone));
        }
        if (!is_terminal(milestone)) continue;
        for (const auto to : kAllMilestones) CHECK_FALSE(leads_to(milestone, to));
    }
}

TEST_CASE("a message is delivered at once or stored, not both") {
    for (const auto stored : {Milestone::stored, Milestone::retrieved}) {
        for (const auto direct :
             {Milestone::int_accepted, Milestone::transmitted, Milestone::accepted}) {
            CHECK_FALSE(go_together(stored, direct));
        }
        CHECK(go_together(stored, Milestone::int_transmitted));  // the transmission failed
    }
}

TEST_CASE("the documents show the diagram of the code") {
    std::ifstream file{BECKON_DOCS "/reliability.md"};
    std::stringstream text;
    text << file.rdbuf();
    CHECK(text.str().find("```mermaid\n" + diagram_text() + "```\n") != std::string::npos);
}
