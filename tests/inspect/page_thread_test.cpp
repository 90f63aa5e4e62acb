#include "inspect/pages/page_thread.hpp"

#include <future>
#include <stdexcept>

#include <catch2/catch.hpp>

using namespace beckon;

TEST_CASE("a page whose maker throws is answered 500, and the next one is made") {
    inspect::PageThread thread{"pages"};
    const auto ask = [&](const std::function<ops::Page()>& make) {
        std::promise<ops::Page> answered;
        auto page = answered.get_future();
        thread.answer(make, [&](ops::Page made) { answered.set_value(std::move(made)); });
        return page.get();
    };
    CHECK(ask([]() -> ops::Page { throw std::runtime_error("no memory"); }).status == 500);
    CHECK(ask([] { return ops::Page{.body = "made"}; }).body == "made");
}
