#include "ingest/call/busiest_senders.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using ingest::BusiestSenders;

namespace {

core::Sha256 key(std::size_t number) {
    core::Sha256 out{};
    out[0] = static_cast<std::uint8_t>(number);
    out[1] = static_cast<std::uint8_t>(number >> 8);
    return out;
}

std::string name(const core::Sha256& of) {
    return BusiestSenders::kPrefix +
           core::hex({reinterpret_cast<const char*>(of.data()), of.size()});
}

}  // namespace

TEST_CASE("a key that sends much keeps its place, whoever else sends") {
    BusiestSenders senders;
    core::MonoTime now{1h};
    for (std::size_t i = 0; i < 10'000; ++i) {
        senders.add(key(i % 5 == 0 ? 1 : 100 + i), now);
        now += 10ms;
    }
    const auto counters = senders.counters();
    CHECK(counters.size() == BusiestSenders::kPlaces);
    REQUIRE(counters.contains(name(key(1))));
    CHECK(counters.at(name(key(1))) == 2'000);
}

TEST_CASE("a key that begins to send much gets a place within minutes") {
    BusiestSenders senders;
    core::MonoTime now{1h};
    for (std::size_t i = 0; i < 100'000; ++i) {
        senders.add(key(i % BusiestSenders::kPlaces), now);
        now += 1ms;
    }
    for (std::size_t i = 0; i < 12'000; ++i) {
        senders.add(i % 2 == 0 ? key(99) : key(i % BusiestSenders::kPlaces), now);
        now += 50ms;
    }
    const auto counters = senders.counters();
    REQUIRE(counters.contains(name(key(99))));
    CHECK(counters.at(name(key(99))) > 4'000);
}
