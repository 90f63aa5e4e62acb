#include "records/ownership.hpp"

#include <catch2/catch.hpp>

using namespace beckon::cluster;
using beckon::core::HeaderView;
using beckon::core::Record;
using beckon::core::RecordView;

namespace {

OwnershipEvent decoded(const Record& record) {
    RecordView view;
    view.key = record.key;
    if (record.value) view.value = *record.value;
    return decode_ownership(view);
}

std::string why(const std::string& key, std::optional<std::string> value) {
    const auto event = decoded({key, std::move(value), {}});
    const auto* unknown = std::get_if<UnknownOwnership>(&event);
    return unknown ? unknown->why : "known";
}

}  // namespace

TEST_CASE("every record of ownership survives the round trip") {
    const ControllerClaim claim{"edge", 7, {"n1"}, false};
    const ControllerClaim cleared{"edge", 7, {"n1"}, true};
    const PlacementRecord placement{"retry", 3, {"n1"}, {{"n2"}, {"n3"}}, 9};
    const EpochRecord epoch{"edge", 12, 5, {"n1"}};
    const NodeRecord node{"edge", {"n1"}, "10.0.0.7:8081", {1, 5}, false, 12, {{"n2"}}};
    auto suspicious = node;
    suspicious.incarnation = 2;
    suspicious.suspects = {{{"n2"}, 0}, {{"n3"}, 4}};
    suspicious.load = {{1, 120}, {5, 0}};
    suspicious.joining = suspicious.leaving = true;
    const NodeRecord gone{"edge", {"n1"}, "", {}, true};
    CHECK(decoded(encode(claim)) == OwnershipEvent{claim});
    CHECK(decoded(encode(cleared)) == OwnershipEvent{cleared});
    CHECK(decoded(encode(placement)) == OwnershipEvent{placement});
    CHECK(decoded(encode(epoch)) == OwnershipEvent{epoch});
    CHECK(decoded(encode(node)) == OwnershipEvent{node});
    CHECK(decoded(encode(suspicious)) == OwnershipEvent{suspicious});
    CHECK(decoded(encode(gone)) == OwnershipEvent{gone});
    CHECK(encode(claim).key == "controller/edge/00000000000000000007/n1");
}

TEST_CASE("a record that ownership should not hold is named and skipped") {
    CHECK(why("a/b/c/d/e", "{}") == "a key of no known form in the record a/b/c/d/e");
    CHECK(why("edge", "{}") == "a key of no known form in the record edge");
    CHECK(why("edge/x", "{}") == "no partition or JSON object in the record edge/x");
    CHECK(why("edge/1", "[") == "no partition or JSON object in the record edge/1");
    const auto deep = std::string(300'000, '[') + std::string(300'000, ']');
    CHECK(why("edge/1", R"({"standbys":)" + deep + "}") ==
          "no partition or JSON object in the record edge/1");
    CHECK(why("edge/node/n1", R"({"suspects":)" + deep + "}") ==
          "no JSON object in the record edge/node/n1");
    CHECK(why("edge/1", R"({"home":5})") == "a field of another type in the record edge/1");
    for (const auto* value :
         {R"({"capacity":1e300})", R"({"capacity":-1})", R"({"capacity":4294967297})",
          R"({"clients":1.5})", R"({"incarnation":-1})", R"({"suspects":{"n2":1e300}})",
          R"({"load":{"1":-1e300}})", R"({"ready":[4294967296]})"}) {
        CAPTURE(value);
        CHECK(why("edge/node/n1", value) == "a field of another type in the record edge/node/n1");
    }
    CHECK(why("edge/1", R"({"epoch":1e300})") == "a field of another type in the record edge/1");
    CHECK(why("edge/epoch/1", R"({"epoch":-1})") ==
          "a field of another type in the record edge/epoch/1");
    CHECK(why("edge/epoch/1", std::nullopt) ==
          "no partition or JSON object in the record edge/epoch/1");
    CHECK(why("controller/edge/x/n", "{}") == "no epoch in the record controller/edge/x/n");
}
