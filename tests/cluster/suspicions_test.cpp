#include "cluster/suspicions.hpp"

#include "cluster/cluster.hpp"
#include "support/manual_clock.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using cluster::CrashLoops;
using cluster::NodeRecord;
using cluster::Suspicions;

namespace {

/// Nodes a, b, …, each a member, none with a name.
struct Role {
    explicit Role(const std::string& ids) {
        for (const char id : ids) {
            const core::NodeId node{std::string{id}};
            NodeRecord record{.role = "edge", .node = node, .link_url = {}, .ready = {}};
            nodes.emplace(node, std::move(record));
            members.insert(node);
        }
    }
    NodeRecord& operator[](const std::string& id) { return nodes.at({id}); }
    void suspects(const std::string& accuser, const std::string& suspect) {
        (*this)[accuser].suspects[{suspect}] = (*this)[suspect].incarnation;
    }
    /// The nodes that are gone once a living one would have objected.
    std::string gone() {
        static_cast<void>(judge());
        clock.advance(Suspicions::kObjection);
        static_cast<void>(judge());
        return text();
    }
    Suspicions::Changes judge() { return judged.judge(nodes, members, clock.mono()); }
    std::string text() const {
        std::string out;
        for (const auto& [id, record] : nodes) {
            if (judged.gone(id)) out += id.text;
        }
        return out;
    }

    test::ManualClock clock;
    std::map<core::NodeId, NodeRecord> nodes;
    std::set<core::NodeId> members;
    Suspicions judged;
};

/// The rule as docs/decisions/0222 has it, word by word and without regard to its cost.
bool is_found_dead(const Role& role, const NodeRecord& suspect) {
    const auto is_suspected = [&](const core::NodeId& node) {
        return std::any_of(role.nodes.begin(), role.nodes.end(), [&](const auto& entry) {
            return Suspicions::stands(role.nodes, entry.second, node);
        });
    };
    std::size_t accusers = 0;
    std::size_t witnesses = 0;
    for (const auto& [id, record] : role.nodes) {
        if (id == suspect.node) continue;
        if (Suspicions::stands(role.nodes, record, suspect.node)) {
            if (!record.name.empty() && record.name == suspect.name) return true;
            ++accusers;
        }
        if (role.members.contains(id) && !record.leaving && !is_suspected(id)) ++witnesses;
    }
    return accusers >= std::clamp<std::size_t>(witnesses, 1, Suspicions::kWitnesses);
}

/// Records of few nodes, so that accusations, objections, successors and leaving nodes meet.
Role random_role(std::minstd_rand& random) {
    const auto one_in = [&random](unsigned n) { return random() % n == 0; };
    Role role{std::string{"abcdefgh"}.substr(0, 1 + random() % 8)};
    const unsigned accusing = 1 + random() % 8;
    for (auto& [id, record] : role.nodes) {
        if (one_in(6)) role.members.erase(id);
        record.leaving = one_in(6);
        if (one_in(3)) record.name = one_in(2) ? "x" : "y";
        record.incarnation = random() % 2;
        for (const char other : std::string{"abcdefgh"}) {  // some of them unknown, or itself
            if (one_in(accusing)) record.suspects[{std::string{other}}] = random() % 2;
        }
    }
    return role;
}

}  // namespace

TEST_CASE("nodes are found dead by the rule, whatever the records are") {
    std::minstd_rand random{7};
    std::size_t dead = 0;
    for (int i = 0; i < 5'000; ++i) {
        auto role = random_role(random);
        std::string expected;
        for (const auto& [id, record] : role.nodes) {
            if (is_found_dead(role, record)) expected += id.text;
        }
        dead += expected.size();
        REQUIRE(role.gone() == expected);
    }
    CHECK(dead > 1'000);
}

TEST_CASE("a role of many nodes is judged in a few comparisons for each record") {
    // A cost that grows with the third power of the nodes does not end within the time of a test.
    constexpr int kNodes = 2'000;
    Role role{""};
    for (int i = 0; i < kNodes; ++i) {
        const core::NodeId node{"n" + std::to_string(i)};
        NodeRecord record{.role = "edge", .node = node, .link_url = {}, .ready = {}};
        record.suspects[{"n0"}] = 0;
        role.nodes.emplace(node, std::move(record));
        role.members.insert(node);
    }
    CHECK(role.gone() == "n0");
}

TEST_CASE("a node that one of several peers finds dead is not gone") {
    Role role{"abc"};
    role.suspects("b", "a");
    CHECK(role.gone().empty());
    CHECK(!role.judged.next());
}

TEST_CASE("a node that two peers find dead is gone, after the time for an objection") {
    Role role{"abcde"};
    role.suspects("b", "a");
    role.suspects("c", "a");
    static_cast<void>(role.judge());
    CHECK(role.text().empty());
    CHECK(role.judged.next() == role.clock.mono() + Suspicions::kObjection);
    role.clock.advance(Suspicions::kObjection);
    CHECK(role.judge().gone == std::set<core::NodeId>{{"a"}});
    CHECK(role.text() == "a");
    CHECK(!role.judged.next());
}

TEST_CASE("the only peer decides alone") {
    Role role{"ab"};
    role.suspects("b", "a");
    CHECK(role.gone() == "a");
}

TEST_CASE("two of three nodes that die at once are gone by the word of the third") {
    Role role{"abc"};
    role.suspects("c", "a");
    role.suspects("c", "b");
    CHECK(role.gone() == "ab");
}

TEST_CASE("a node that objects is not gone, and comes back if it was") {
    Role role{"ab"};
    role.suspects("b", "a");
    const bool late = GENERATE(false, true);
    CAPTURE(late);
    if (late) REQUIRE(role.gone() == "a");
    role["a"].incarnation = 1;
    const auto changes = role.judge();
    CHECK(changes.returned.size() == (late ? 1U : 0U));
    CHECK(role.gone().empty());
    role.suspects("b", "a");  // anew, with what it has read
    CHECK(role.gone() == "a");
}

TEST_CASE("a record from before the suspicion is no objection") {
    Role role{"ab"};
    role["a"].incarnation = 3;
    role.suspects("b", "a");
    role["a"].ready = {1};  // was on its way when the node died
    CHECK(role.gone() == "a");
}

TEST_CASE("the next process of a node's name is witness enough") {
    Role role{"abcd"};
    role["a"].name = role["d"].name = "machine";
    role["b"].name = "other";
    role.suspects("d", "a");
    role.suspects("d", "b");
    CHECK(role.gone() == "a");
}

TEST_CASE("who leaves, or is no member, is no witness that has to agree") {
    Role role{"abcd"};
    role.suspects("b", "a");
    role["c"].leaving = true;
    role.members.erase({"d"});
    CHECK(role.gone() == "a");
}

TEST_CASE("a process that was stopped gives suspects their whole time again") {
    Role role{"ab"};
    role.suspects("b", "a");
    static_cast<void>(role.judge());
    role.clock.advance(1h);
    role.judged.begin_again(role.clock.mono());
    static_cast<void>(role.judge());
    CHECK(role.text().empty());
    CHECK(role.gone() == "a");
}

TEST_CASE("a node whose record is removed is forgotten") {
    Role role{"ab"};
    role.suspects("b", "a");
    REQUIRE(role.gone() == "a");
    role.nodes.erase({"a"});
    CHECK(role.judge().returned.empty());
    CHECK(!role.judged.gone({"a"}));
}

TEST_CASE("each further death of a name makes its next pause longer, up to a bound") {
    test::ManualClock clock;
    CrashLoops loops;
    const auto dies = [&] {
        loops.died("machine", clock.mono());
        clock.advance(1s);
        return loops.pause("machine", clock.mono());
    };
    CHECK(dies() == 0s);
    CHECK(dies() == CrashLoops::kFirst);
    CHECK(dies() == 2 * CrashLoops::kFirst);
    for (int i = 0; i < 20; ++i) CHECK(dies() <= CrashLoops::kMost);
    CHECK(dies() == CrashLoops::kMost);
    CHECK(loops.pause("other", clock.mono()) == 0s);
    clock.advance(CrashLoops::kForgotten);
    CHECK(loops.pause("machine", clock.mono()) == 0s);
    CHECK(dies() == 0s);
}
