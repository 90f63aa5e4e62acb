#include "cluster/overview.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::cluster;

namespace {

const core::NodeId kOne{"node-1"};
const core::NodeId kTwo{"node-2"};

bool all_live(const core::NodeId&) { return true; }

/// The overview of the role edge after the events.
struct Folded {
    template <class... Events>
    explicit Folded(const Events&... events) {
        (apply(encode(events)), ...);
    }
    void apply(const core::Record& record) {
        core::RecordView view;
        view.key = record.key;
        if (record.value) view.value = *record.value;
        fold.apply(view);
    }
    PartitionState state() const { return overview_of(fold, all_live).partitions.at(0).state; }

    OwnershipFold fold{"edge", 1};
};

const PlacementRecord kPlaced{
    .role = "edge", .partition = 0, .home = kTwo, .standbys = {kOne}, .epoch = 1};

}  // namespace

TEST_CASE("a node is shown with its links, its clients and its partitions") {
    const Folded folded{ControllerClaim{"edge", 1, kOne},
                        NodeRecord{"edge", kOne, "10.0.0.1:8081", {0}, false, 7, {kTwo}},
                        NodeRecord{"edge", kTwo, "10.0.0.2:8081", {}},
                        NodeRecord{"retry", kOne, "", {}}, kPlaced};
    CHECK(overview_of(folded.fold, all_live).nodes ==
          std::vector<NodeOverview>{
              {.id = kOne,
               .link_address = "10.0.0.1:8081",
               .controller = true,
               .clients = 7,
               .links = {kTwo},
               .homes = 0,
               .standbys = 1},
              {.id = kTwo, .link_address = "10.0.0.2:8081", .homes = 1, .standbys = 0}});
}

TEST_CASE("a partition is handed over until its home has the highest epoch") {
    const NodeRecord serves{"edge", kTwo, "", {0}};
    Folded folded{serves, kPlaced, EpochRecord{"edge", 0, 3, kOne}};
    CHECK(folded.state() == PartitionState::moving);
    CHECK(overview_of(folded.fold, all_live).partitions[0].claimed_by == kOne);
    folded.apply(encode(EpochRecord{"edge", 0, 4, kTwo}));
    CHECK(folded.state() == PartitionState::serving);
    CHECK(overview_of(folded.fold, all_live).partitions[0].epoch == 4);
}

TEST_CASE("a home that is not ready while others report themselves restores") {
    CHECK(Folded{NodeRecord{"edge", kOne, "", {0}}, NodeRecord{"edge", kTwo, "", {}}, kPlaced}
              .state() == PartitionState::restoring);
    CHECK(Folded{NodeRecord{"edge", kTwo, "", {}}, kPlaced}.state() == PartitionState::serving);
}

TEST_CASE("a standby is ready once it says so") {
    CHECK(overview_of(Folded{NodeRecord{"edge", kOne, "", {0}}, kPlaced}.fold, all_live)
              .partitions[0]
              .standbys == std::vector<StandbyOverview>{{.node = kOne, .ready = true}});
}

TEST_CASE("a partition without a home is shown, a role that never ran has none") {
    CHECK(Folded{NodeRecord{"edge", kOne, "", {}}}.state() == PartitionState::unplaced);
    CHECK(overview_of(Folded{}.fold, all_live).partitions.empty());
}

TEST_CASE("a partition is hot that gets several times the records of the others") {
    const auto hot = [](std::map<core::Partition, std::uint64_t> load) {
        OwnershipFold fold{"edge", 4};
        NodeRecord node{"edge", kOne, "", {}};
        node.load = std::move(load);
        std::vector<core::Record> records{encode(node)};
        for (core::Partition p = 0; p < 4; ++p) {
            records.push_back(encode(PlacementRecord{"edge", p, kOne, {}, 1}));
        }
        for (const auto& record : records) {
            core::RecordView view;
            view.key = record.key;
            view.value = *record.value;
            fold.apply(view);
        }
        std::set<core::Partition> out;
        for (const auto& one : overview_of(fold, all_live).partitions) {
            if (one.hot) out.insert(one.partition);
        }
        return out;
    };
    CHECK(hot({{0, 3'000}, {1, 1'000}, {2, 1'000}, {3, 1'000}}) == std::set{0});
    CHECK(hot({{0, 2'999}, {1, 1'000}, {2, 1'000}, {3, 1'000}}).empty());
    CHECK(hot({{0, 999}, {1, 0}, {2, 0}, {3, 0}}).empty());  // that is no load
    CHECK(hot({{0, 1'000}, {1, 0}, {2, 0}, {3, 0}}) == std::set{0});
    CHECK(hot({{2, 90'000}}).empty());  // the others are not known
    CHECK(hot({{2, 90'000}, {3, 10}}) == std::set{2});
    CHECK(hot({}).empty());
}

TEST_CASE("a dead node serves nothing, and is no standby that could") {
    NodeRecord one{"edge", kOne, "10.0.0.1:8081", {0}, false, 7, {kTwo}};
    NodeRecord two{"edge", kTwo, "10.0.0.2:8081", {0}, false, 9, {kOne}};
    two.load = {{0, 5'000}};
    const Folded folded{one, two, kPlaced};
    const auto role = overview_of(folded.fold, [](const auto&) { return false; });
    for (const auto& node : role.nodes) {
        CHECK_FALSE(node.alive);
        CHECK_FALSE(node.clients);
        CHECK(node.links.empty());
    }
    const auto& partition = role.partitions.at(0);
    CHECK(partition.state == PartitionState::unplaced);
    CHECK_FALSE(partition.load);
    CHECK(partition.standbys == std::vector<StandbyOverview>{{.node = kOne, .alive = false}});
}
