#include "console/web/live_pages.hpp"

#include <thread>

#include <catch2/catch.hpp>

using beckon::console::LivePages;
using namespace std::chrono_literals;

TEST_CASE("a reader hears of a page once for each change", "[console]") {
    LivePages pages;
    LivePages::Seen seen;
    CHECK(pages.get("lag") == nullptr);
    CHECK(pages.changes({"lag"}, seen, 0ms).empty());
    pages.publish("lag", "1");
    pages.publish("cluster", "x");
    const auto first = pages.changes({"lag"}, seen, 0ms);
    REQUIRE(first.size() == 1);
    CHECK(*first[0].second == "1");
    pages.publish("lag", "1");  // the same
    CHECK(pages.changes({"lag"}, seen, 0ms).empty());
    pages.publish("lag", "2");
    pages.publish("lag", "3");
    const auto last = pages.changes({"lag"}, seen, 0ms);
    REQUIRE(last.size() == 1);
    CHECK(*last[0].second == "3");
}

TEST_CASE("who waits is woken by a change, and by the stop", "[console]") {
    LivePages pages;
    LivePages::Seen seen;
    std::thread publisher{[&] { pages.publish("lag", "1"); }};
    CHECK(pages.changes({"lag"}, seen, 60s).size() == 1);
    publisher.join();
    std::thread stopper{[&] { pages.stop(); }};
    CHECK(pages.changes({"lag"}, seen, 60s).empty());
    stopper.join();
    CHECK(pages.stopped());
}
