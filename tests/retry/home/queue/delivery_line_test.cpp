#include "retry/home/queue/delivery_line.hpp"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using beckon::retry::DeliveryLine;
using beckon::retry::LinePlaces;

TEST_CASE("deliveries stand in the order in which they came, and are found by their ids",
          "[retry][dispatch]") {
    LinePlaces places;
    DeliveryLine line{places, "shop"};
    CHECK(line.empty());
    for (const auto* id : {"c", "a", "b"}) line.push_back(id);
    CHECK(line.size() == 3);
    CHECK(line.find("a")->delivery == "a");
    CHECK(line.find("d") == nullptr);
    line.erase("a");
    line.erase("d");
    CHECK(line.find("a") == nullptr);
    CHECK(line.front().delivery == "c");
    line.pop_front();
    CHECK(line.front().delivery == "b");
    line.push_back("c");  // comes back behind
    CHECK(line.front().delivery == "b");
    CHECK(places.used(0) == 2);
    line.clear();
    CHECK(line.empty());
    CHECK(line.find("c") == nullptr);
    CHECK(places.used(0) == 0);
}

TEST_CASE("the lines of one owner leave places to those of others, and each has a few",
          "[retry][dispatch][bounds]") {
    LinePlaces places{10'000};
    std::vector<std::unique_ptr<DeliveryLine>> lines;
    const auto fill = [&](const std::string& owner) {
        auto& line = *lines.emplace_back(std::make_unique<DeliveryLine>(places, owner));
        while (line.has_capacity()) line.push_back(std::to_string(line.size()));
        return line.size();
    };
    const auto first = fill("hostile");
    CHECK(first > 2'000);
    CHECK(first < 3'000);
    for (int i = 0; i < 100; ++i) CHECK(fill("hostile") == DeliveryLine::kAlways);
    CHECK(fill("shop") > 500);
    CHECK(places.used(0) < 7'000);
    lines.clear();
    CHECK(places.used(0) == 0);
}
