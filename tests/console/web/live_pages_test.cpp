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
    CHECK(*first[0].text == "1");
    pages.publish("lag", "1");  // the same
    CHECK(pages.changes({"lag"}, seen, 0ms).empty());
    pages.publish("lag", "2");
    pages.publish("lag", "3");
    const auto last = pages.changes({"lag"}, seen, 0ms);
    REQUIRE(last.size() == 1);
    CHECK(*last[0].text == "3");
}

TEST_CASE("a text is made once, and only if somebody asks", "[console]") {
    LivePages pages;
    int made = 0;
    const auto publish = [&] {
        pages.publish("lag", LivePages::Source{.whole = [&] { return std::to_string(++made); }});
    };
    publish();
    CHECK(made == 0);
    CHECK(*pages.get("lag") == "1");
    CHECK(*pages.get("lag") == "1");
    publish();
    publish();
    LivePages::Seen seen;
    CHECK(*pages.changes({"lag"}, seen, 0ms).at(0).text == "2");
}

TEST_CASE("who has the page before is told the change, others all of it", "[console]") {
    LivePages pages;
    std::string change = "+2";
    const auto publish = [&](const std::string& whole) {
        pages.publish("lag", {.whole = [=] { return whole; }, .change = [=] { return change; }});
    };
    LivePages::Seen follower;
    publish("1");
    CHECK(pages.changes({"lag"}, follower, 0ms).at(0).whole);
    publish("12");
    const auto next = pages.changes({"lag"}, follower, 0ms).at(0);
    CHECK_FALSE(next.whole);
    CHECK(*next.text == "+2");
    LivePages::Seen newcomer;
    CHECK(*pages.changes({"lag"}, newcomer, 0ms).at(0).text == "12");
    publish("123");
    publish("1234");
    CHECK(*pages.changes({"lag"}, follower, 0ms).at(0).text == "1234");  // it has missed one
    change.clear();
    publish("9");
    CHECK(*pages.changes({"lag"}, follower, 0ms).at(0).text == "9");  // no change can be told
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
