#include "records/delivery.hpp"
#include "records/done.hpp"
#include "retry/home/tiers/recent_deliveries.hpp"
#include "support/record_view.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using retry::Delivery;
using retry::DoneRecord;
using test::ReadBack;

namespace {

Delivery a_delivery() {
    return {.id = "dlv_1",
            .webhook = "0190",
            .event = R"({"id":"1"})",
            .hop = 3,
            .attempts = 2,
            .step = 4,
            .accepted = core::Timestamp{1'234'567ms},
            .last = retry::Outcome::timed_out};
}

}  // namespace

TEST_CASE("a delivery comes back from its record, and from that of a dead letter",
          "[retry][records]") {
    CHECK(*retry::decode_delivery(*ReadBack{encode(a_delivery())}) == a_delivery());
    CHECK(*retry::decode_delivery(*ReadBack{encode_dead(a_delivery())}) == a_delivery());
}

TEST_CASE("a delivery that names its event comes back, and takes few bytes", "[retry][records]") {
    auto delivery = a_delivery();
    delivery.event.clear();
    delivery.place = {.partition = 3,
                      .offset = 1'042,
                      .name = retry::event_name("/shop", "e1"),
                      .bytes = 262'144,
                      .type = "order.created"};
    const auto record = encode(delivery);
    CHECK(*retry::decode_delivery(*ReadBack{record}) == delivery);
    CHECK(*retry::decode_delivery(*ReadBack{encode_dead(delivery)}) == delivery);
    std::size_t bytes = record.key.size() + record.value->size();
    for (const auto& [name, value] : record.headers) bytes += name.size() + value.size();
    CHECK(bytes < 300);

    for (const auto* place :
         {"", "3", "3 1042 262144", "3 1042 262144 ", "-1 1042 1 n", "x 1 1 n"}) {
        CAPTURE(place);
        auto broken = record;
        for (auto& header : broken.headers) {
            if (header.name == "ce_event") header.value = place;
        }
        const auto read = retry::decode_delivery(*ReadBack{broken});
        REQUIRE_FALSE(read);
        CHECK(read.error().message == "a delivery whose event has no place");
    }
}

TEST_CASE("a first record takes its own append time as the time it was accepted",
          "[retry][records]") {
    const auto record = encode(Delivery{.id = "dlv_1", .webhook = "0190", .event = "{}"});
    const auto delivery = retry::decode_delivery(*ReadBack{record, 0, core::Timestamp{77ms}});
    CHECK(delivery->accepted == core::Timestamp{77ms});
    CHECK(record.headers.size() == 4);
}

TEST_CASE("headers are replaced at each hop and never pile up", "[retry][records]") {
    auto delivery = a_delivery();
    const auto size = encode(delivery).headers.size();
    for (int hop = 0; hop < 5; ++hop) {
        delivery = *retry::decode_delivery(*ReadBack{encode(delivery)});
        ++delivery.hop;
    }
    CHECK(encode(delivery).headers.size() == size);
}

TEST_CASE("a record that is no delivery is named so", "[retry][records]") {
    auto record = encode(a_delivery());
    const auto fault = [&] { return retry::decode_delivery(*ReadBack{record}).error().message; };
    record.value.reset();
    CHECK(fault() == "a delivery without id, webhook or event");
    record = encode(a_delivery());
    record.headers[4].value = "three";
    CHECK(fault() == "a delivery with a header that is no number");
    record.headers.clear();
    CHECK(fault() == "no delivery");
}

TEST_CASE("the delivery id follows from event and webhook, and has no dot", "[retry][records]") {
    const auto id = retry::delivery_id("/shop", "42", "0190");
    CHECK(id == retry::delivery_id("/shop", "42", "0190"));
    CHECK(id != retry::delivery_id("/shop", "42", "0191"));
    CHECK(id != retry::delivery_id("/shop4", "2", "0190"));
    CHECK(id.find('.') == std::string::npos);
}

TEST_CASE("a done record comes back", "[retry][records]") {
    const DoneRecord done{.partition = 3,
                          .epoch = 7,
                          .delays = {0s, 5s},
                          .tiers = {{0, {{.low = 10, .above = {{12, 13}, {20, 40}}}, 9}},
                                    {1, {{.low = 0, .above = {}}, 4}}},
                          .dead_scan = 2,
                          .events_next = 5};
    const auto record = encode(done);
    CHECK(record.key == "done/3");
    CHECK(*retry::decode_done(*ReadBack{record}) == done);
}

TEST_CASE("a done record that does not decode is corrupt, another key is none",
          "[retry][records]") {
    auto record = encode(DoneRecord{});
    record.value = "{";
    CHECK(retry::decode_done(*ReadBack{record}).error().fault == core::Fault::corrupt);
    const std::string begin = R"({"epoch":1,"dead_scan":0,"events_next":0,)";
    const std::string tier = R"("delays_s":[0],"tiers":{"0":{"scan":0,"low":)";
    record.value = begin + tier + R"(5,"above":[1,2]}}})";
    CHECK(retry::decode_done(*ReadBack{record}));
    for (const auto& rest :
         {std::string{R"("tiers":{},"delays_s":[1e300]})"},
          std::string{R"("tiers":{},"delays_s":[0.5]})"}, tier + R"(1e300,"above":[]}}})",
          tier + R"(5,"above":[1,-1]}}})", tier + R"(5,"above":[9223372036854775807,1]}}})"}) {
        CAPTURE(rest);
        record.value = begin + rest;
        const auto read = retry::decode_done(*ReadBack{record});
        REQUIRE_FALSE(read);
        CHECK(read.error().fault == core::Fault::corrupt);
    }
    record.key = "!barrier/n";
    CHECK(retry::decode_done(*ReadBack{record}).error().fault == core::Fault::not_found);
}

TEST_CASE("a copy is recognised until thousands have come after it", "[retry][records]") {
    retry::RecentDeliveries recent;
    auto delivery = a_delivery();
    CHECK(recent.insert(delivery));
    CHECK_FALSE(recent.insert(delivery));
    ++delivery.hop;
    CHECK(recent.insert(delivery));  // another hop is no copy
    for (std::size_t i = 0; i < retry::RecentDeliveries::kRemembered; ++i) {
        recent.insert(Delivery{
            .id = "other", .webhook = "w", .event = "", .hop = static_cast<std::uint32_t>(i)});
    }
    CHECK(recent.insert(delivery));
}

TEST_CASE("the last thousands are known, and none before them, however many come",
          "[retry][records]") {
    constexpr int kCount = 5 * int{retry::RecentDeliveries::kRemembered};
    retry::RecentDeliveries recent;
    const auto named = [](int n) {
        return Delivery{.id = std::to_string(n), .webhook = "w", .event = "{}"};
    };
    for (int n = 0; n < kCount; ++n) {
        if (!recent.insert(named(n))) FAIL("a new one was taken for a copy: " << n);
    }
    for (int n = kCount - int{retry::RecentDeliveries::kRemembered}; n < kCount; ++n) {
        if (recent.insert(named(n))) FAIL("a copy was not recognised: " << n);
    }
    CHECK(recent.insert(named(0)));
}
