#include "store/folds/notification_fold.hpp"

#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::store;

namespace {

KeyName name_of(std::uint8_t number) {
    KeyName name;
    name.key.bytes[0] = number;
    return name;
}

PendingTombstone at(core::Offset offset, std::uint8_t number) {
    return {.uaid = name_of(number).uaid,
            .key = name_of(number).key,
            .reason = core::FinishReason::acked,
            .put_offset = offset,
            .end = std::nullopt};
}

std::vector<core::Offset> offsets(const std::vector<PendingTombstone>& all) {
    std::vector<core::Offset> out;
    for (const auto& one : all) out.push_back(one.put_offset);
    return out;
}

}  // namespace

TEST_CASE("a postponed ack is found until it is taken") {
    PostponedAcks acks;
    acks.add(at(7, 1), core::Timestamp{});
    REQUIRE(acks.find(name_of(1)));
    CHECK(acks.find(name_of(1))->pending.put_offset == 7);
    CHECK(acks.contains(7));
    CHECK_FALSE(acks.find(name_of(2)));
    REQUIRE(acks.take(name_of(1)));
    CHECK_FALSE(acks.take(name_of(1)));
    CHECK_FALSE(acks.contains(7));
    CHECK(acks.size() == 0);
}

TEST_CASE("postponed acks stand among the pending tombstones of a table in their order") {
    PostponedAcks acks;
    acks.add(at(5, 1), {});
    acks.add(at(9, 2), {});
    const auto merged = [&](std::vector<PendingTombstone> of_table,
                            const std::optional<PendingTombstone>& after, std::size_t max) {
        acks.merge_into(of_table, after, max);
        return offsets(of_table);
    };
    using Offsets = std::vector<core::Offset>;
    CHECK(merged({at(3, 3), at(7, 4)}, std::nullopt, 10) == Offsets{3, 5, 7, 9});
    CHECK(merged({at(3, 3), at(7, 4)}, std::nullopt, 2) == Offsets{3, 5});
    CHECK(merged({at(7, 4)}, at(5, 1), 10) == Offsets{7, 9});
    CHECK(merged({}, at(9, 2), 10).empty());
}

TEST_CASE("a postponed ack is due when the call before has seen it") {
    PostponedAcks acks;
    acks.add(at(5, 1), {});
    CHECK(acks.due(false).empty());
    acks.add(at(6, 2), {});
    CHECK(acks.due(false) == std::vector{name_of(1)});
    CHECK(acks.due(true).size() == 2);
}
