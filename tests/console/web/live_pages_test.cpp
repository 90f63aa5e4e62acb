#include "console/web/live_pages.hpp"

#include <catch2/catch.hpp>

using beckon::console::LivePages;

TEST_CASE("a reader is notified of a page once for each change") {
    LivePages pages;
    LivePages::Seen seen;
    CHECK(pages.get("lag") == nullptr);
    CHECK(pages.changes({"lag"}, seen).empty());
    pages.publish("lag", "1");
    pages.publish("cluster", "x");
    const auto first = pages.changes({"lag"}, seen);
    REQUIRE(first.size() == 1);
    CHECK(*first[0].text == "1");
    pages.publish("lag", "1");  // the same
    CHECK(pages.changes({"lag"}, seen).empty());
    pages.publish("lag", "2");
    pages.publish("lag", "3");
    const auto last = pages.changes({"lag"}, seen);
    REQUIRE(last.size() == 1);
    CHECK(*last[0].text == "3");
}

TEST_CASE("a text is made once, and only if somebody asks") {
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
    CHECK(*pages.changes({"lag"}, seen).at(0).text == "2");
}

TEST_CASE("a reader that has the former page receives the change, others the whole page") {
    LivePages pages;
    std::string change = "+2";
    const auto publish = [&](const std::string& whole) {
        pages.publish("lag", {.whole = [=] { return whole; }, .change = [=] { return change; }});
    };
    LivePages::Seen follower;
    publish("1");
    CHECK(pages.changes({"lag"}, follower).at(0).whole);
    publish("12");
    const auto next = pages.changes({"lag"}, follower).at(0);
    CHECK_FALSE(next.whole);
    CHECK(*next.text == "+2");
    LivePages::Seen newcomer;
    CHECK(*pages.changes({"lag"}, newcomer).at(0).text == "12");
    publish("123");
    publish("1234");
    CHECK(*pages.changes({"lag"}, follower).at(0).text == "1234");  // it has missed one
    change.clear();
    publish("9");
    CHECK(*pages.changes({"lag"}, follower).at(0).text == "9");  // there is no change to send
}

TEST_CASE("a listener is notified of each change, until it is removed") {
    LivePages pages;
    int notified = 0;
    pages.on_change([&] { ++notified; });
    pages.publish("lag", "1");
    pages.publish("lag", "1");  // the same
    pages.publish("cluster", "1");
    CHECK(notified == 2);
    pages.on_change(nullptr);
    pages.publish("lag", "2");
    CHECK(notified == 2);
}
