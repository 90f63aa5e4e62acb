#include "reliability/history/history.hpp"

#include "reliability/milestone_texts.hpp"
#include "reliability/random_lives.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace reliability;
using test::at_ms;

namespace {

constexpr std::int64_t kAppended = 1'000'000;

History fold(const std::vector<Reached>& milestones) {
    History history{at_ms(2'000'000), at_ms(kAppended)};
    for (const auto& reached : milestones) {
        history.add(reached, at_ms(2'000'000), at_ms(kAppended));
    }
    return history;
}

std::vector<Reached> direct_delivery() {
    return {{Milestone::received, at_ms(1)},     {Milestone::int_transmitted, at_ms(2)},
            {Milestone::int_accepted, at_ms(3)}, {Milestone::transmitted, at_ms(4)},
            {Milestone::accepted, at_ms(5)},     {Milestone::delivered, at_ms(6)}};
}

}  // namespace

TEST_CASE("a direct message ends as delivered") {
    const auto history = fold(direct_delivery());
    CHECK(history.current() == Milestone::delivered);
    CHECK(history.ended() == at_ms(kAppended));
    CHECK(history.steps() == direct_delivery());
}

TEST_CASE("a milestone that comes late fills the history and moves nothing back") {
    auto history = fold({{Milestone::received, at_ms(1)}, {Milestone::delivered, at_ms(9)}});
    const auto effect = history.add({Milestone::accepted, at_ms(5)}, at_ms(0), at_ms(kAppended));
    CHECK(effect == Effect::filled);
    CHECK(history.current() == Milestone::delivered);
    CHECK(history.has(Milestone::accepted));
}

TEST_CASE("a milestone reported twice counts once, at its earlier time") {
    auto history = fold({{Milestone::stored, at_ms(7)}});
    CHECK(history.add({Milestone::stored, at_ms(5)}, at_ms(0), at_ms(kAppended)) ==
          Effect::repeated);
    CHECK(history.add({Milestone::stored, at_ms(8)}, at_ms(0), at_ms(kAppended)) ==
          Effect::repeated);
    CHECK(history.steps() == std::vector<Reached>{{Milestone::stored, at_ms(5)}});
}

TEST_CASE("a milestone that the diagram does not allow changes nothing") {
    auto history = fold({{Milestone::stored, at_ms(1)}, {Milestone::retrieved, at_ms(2)}});
    const auto before = history;
    for (const auto milestone :
         {Milestone::int_accepted, Milestone::transmitted, Milestone::accepted,
          Milestone::bridge_transmitted, Milestone::errored}) {
        CAPTURE(milestone);
        CHECK(history.add({milestone, at_ms(3)}, at_ms(9'000'000), at_ms(9'000'000)) ==
              Effect::refused);
        CHECK(history == before);
    }
}

TEST_CASE("a second end is refused: the first in the log counts") {
    auto history = fold({{Milestone::received, at_ms(1)}, {Milestone::expired, at_ms(2)}});
    CHECK(history.add({Milestone::delivered, at_ms(1)}, at_ms(0), at_ms(kAppended)) ==
          Effect::refused);
    CHECK(history.current() == Milestone::expired);
}

TEST_CASE("a failed transmission ends in the store") {
    const auto history = fold({{Milestone::received, at_ms(1)},
                               {Milestone::int_transmitted, at_ms(2)},
                               {Milestone::received, at_ms(3)},
                               {Milestone::stored, at_ms(4)}});
    CHECK(history.current() == Milestone::stored);
    CHECK(history.at(Milestone::received) == at_ms(1));
}

TEST_CASE("a clock that is ahead reports nothing from the future") {
    const auto history = fold({{Milestone::received, at_ms(kAppended + 5'000)}});
    CHECK(history.at(Milestone::received) == at_ms(kAppended));
}

TEST_CASE("a message lives until the latest end that was reported") {
    History history{at_ms(100), at_ms(1)};
    history.add({Milestone::received, at_ms(1)}, at_ms(100), at_ms(1));
    history.add({Milestone::stored, at_ms(1)}, at_ms(150), at_ms(2));
    history.add({Milestone::retrieved, at_ms(1)}, at_ms(120), at_ms(3));
    CHECK(history.expires() == at_ms(150));
    CHECK(history.changed() == at_ms(3));
}

TEST_CASE("a life gives the same history in any order and with any repetition") {
    const auto seed = GENERATE(range(0U, 300U));
    CAPTURE(seed);
    test::RandomLives make{seed};
    const auto life = make.life(at_ms(1'000));
    const auto in_order = fold(life);
    CHECK(in_order.current() ==
          std::max_element(life.begin(), life.end(), [](const Reached& a, const Reached& b) {
              return rank(a.milestone) < rank(b.milestone);
          })->milestone);
    auto mixed = life;
    mixed.insert(mixed.end(), life.begin(), life.end());
    make.shuffle(mixed);
    CHECK(fold(mixed) == in_order);
}

TEST_CASE("after any milestones a history is a life that the diagram allows") {
    const auto seed = GENERATE(range(0U, 300U));
    CAPTURE(seed);
    const auto history = fold(test::RandomLives{seed}.nonsense(at_ms(1'000)));
    const auto steps = history.steps();
    REQUIRE_FALSE(steps.empty());
    for (std::size_t i = 1; i < steps.size(); ++i) {
        CHECK(leads_to(steps[i - 1].milestone, steps[i].milestone));
    }
    CHECK(history.current() == steps.back().milestone);
}

TEST_CASE("a history's row reads back, and no part of one does") {
    const auto seed = GENERATE(range(0U, 50U));
    CAPTURE(seed);
    const auto history = fold(test::RandomLives{seed}.life(at_ms(1'000)));
    std::string row;
    history.append_to(row);
    CHECK(History::parse(row) == history);
    for (std::size_t size = 0; size < row.size(); ++size) {
        CHECK_FALSE(History::parse(std::string_view{row}.substr(0, size)));
    }
    CHECK_FALSE(History::parse(row + "x"));
}
