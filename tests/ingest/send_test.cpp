#include "ingest_world.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;

TEST_CASE("a message to a subscription is answered 201 with Location and TTL", "[send]") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto reply = world.ask(IngestWorld::post_data(target.path).with("TTL", "90"));
    const auto records = world.notifications();
    REQUIRE(records.size() == 1);
    const auto& record = records[0].record;
    HttpReply expected;
    expected.status = 201;
    std::string id;
    for (const auto& h : record.headers) {
        if (h.name == core::header::kId) id = h.value;
    }
    expected.add("Location", "https://push.example.com:8443/m/" + id);
    expected.add("TTL", "90");
    expected.add("Vary", std::string{IngestWorld::kVary});
    CHECK(reply == expected);
    CHECK(record.key.starts_with(core::to_hex(target.uaid) + "/"));
    CHECK(record.value == "ciphertext");
}

TEST_CASE("the 201 waits for the log", "[send]") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto exchange = world.begin(IngestWorld::post_data(target.path));
    CHECK_FALSE(exchange->answer);
    CHECK(world.notifications().empty());
    world.settle();
    REQUIRE(exchange->answer);
    CHECK(exchange->answer->status == 201);
}
