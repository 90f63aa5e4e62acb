#include "console/pages/search_workers.hpp"

#include <atomic>
#include <future>
#include <list>
#include <stdexcept>
#include <thread>

#include <catch2/catch.hpp>

using namespace beckon;
using console::SearchWorkers;

namespace {

/// The future answer to a query.
std::future<console::Answer> asked(const console::Ask& query) {
    const auto promised = std::make_shared<std::promise<console::Answer>>();
    query({{"q", "x"}}, [promised](console::Answer output) { promised->set_value(output); });
    return promised->get_future();
}

}  // namespace

TEST_CASE("searches beyond the bound are refused until one has ended") {
    SearchWorkers workers;
    std::promise<void> go_on;
    const std::shared_future<void> goes_on{go_on.get_future()};
    const auto held = workers.ask([goes_on](const console::Parameters& parameters) {
        goes_on.wait();
        return console::Answer{200, parameters.at("q")};
    });
    std::list<std::future<console::Answer>> searches;
    for (std::size_t i = 0; i < SearchWorkers::kSearchesMax; ++i) searches.push_back(asked(held));
    const auto refused = asked(held).get();  // at once, on the thread that asks
    CHECK(refused.status == 503);
    CHECK_THAT(refused.json, Catch::Contains("others search"));
    go_on.set_value();
    for (auto& search : searches) {
        const auto answer = search.get();
        CHECK(answer.status == 200);
        CHECK(answer.json == "x");
        CHECK(asked(held).get().status == 200);  // an answer frees its place
    }
}

TEST_CASE("a search that throws ends alone") {
    SearchWorkers workers;
    const auto throws = workers.ask([](const console::Parameters&) -> console::Answer {
        throw std::runtime_error("no memory");
    });
    for (int i = 0; i < 5; ++i) CHECK(asked(throws).get().status == 500);
}

TEST_CASE("the end waits for searches that are under way") {
    std::atomic<int> ended{0};
    std::promise<void> begun;
    {
        SearchWorkers workers;
        workers.ask([&](const console::Parameters&) {
            begun.set_value();
            std::this_thread::yield();
            ++ended;
            return console::Answer{};
        })({}, [](const console::Answer&) {});
        begun.get_future().wait();
    }
    CHECK(ended == 1);
}
