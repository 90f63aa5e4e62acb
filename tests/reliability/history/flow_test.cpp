#include "reliability/history/flow.hpp"

#include "reliability/milestone_texts.hpp"
#include "reliability/random_lives.hpp"

#include <cmath>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace reliability;
using test::at_ms;

TEST_CASE("the mean is exact, and quantiles are within an eighth") {
    Durations durations;
    for (int ms = 1; ms <= 10'000; ++ms) durations.add(milliseconds{ms});
    CHECK(durations.count() == 10'000);
    CHECK(durations.mean() == milliseconds{5'000});
    const auto near = [&](double quantile, double ms) {
        return std::abs(static_cast<double>(durations.at_quantile(quantile).count()) - ms) <=
               ms / 8;
    };
    CHECK(near(0.5, 5'000));
    CHECK(near(0.99, 9'900));
    CHECK(near(0.0, 1));
}

TEST_CASE("short durations are exact, and the longest life has a bucket") {
    for (const std::int64_t ms : {0, 1, 7, 15}) {
        Durations one;
        one.add(milliseconds{ms});
        CHECK(one.at_quantile(0.5) == milliseconds{ms});
    }
    Durations life;
    life.add(std::chrono::days{30});
    CHECK(life.at_quantile(0.5) > std::chrono::days{27});
    CHECK(life.at_quantile(0.5) < std::chrono::days{33});
    CHECK(Durations{}.mean() == milliseconds{0});
    CHECK(Durations{}.at_quantile(0.99) == milliseconds{0});
}

TEST_CASE("added durations can be taken out again, in any order") {
    const auto seed = GENERATE(range(0U, 20U));
    CAPTURE(seed);
    test::RandomLives random{seed};
    std::vector<milliseconds> added;
    Durations durations;
    for (int i = 0; i < 200; ++i) {
        added.emplace_back(random.below(std::size_t{1} << random.below(40)));
        durations.add(added.back());
    }
    random.shuffle(added);
    for (const auto duration : added) durations.remove(duration);
    CHECK(durations == Durations{});
    durations.remove(milliseconds{5});
    CHECK(durations == Durations{});
}

TEST_CASE("a message's steps are timed between its known milestones") {
    History history{at_ms(9'000), at_ms(9'000)};
    history.add({Milestone::received, at_ms(100)}, at_ms(0), at_ms(9'000));
    history.add({Milestone::retrieved, at_ms(350)}, at_ms(0), at_ms(9'000));
    history.add({Milestone::delivered, at_ms(340)}, at_ms(0), at_ms(9'000));  // its clock is behind
    CHECK(timed_steps(history) ==
          std::vector<TimedStep>{
              {{Milestone::received, Milestone::retrieved}, milliseconds{250}, at_ms(350)},
              {{Milestone::retrieved, Milestone::delivered}, milliseconds{0}, at_ms(340)}});
}

TEST_CASE("a flow's bytes read back, and no part of them does") {
    Flow flow;
    flow[{Milestone::received, Milestone::stored}].add(milliseconds{17});
    flow[{Milestone::received, Milestone::stored}].add(milliseconds{70'000});
    flow[{Milestone::stored, Milestone::retrieved}].add(std::chrono::days{3});
    std::string bytes;
    append_flow(bytes, flow);
    CHECK(parse_flow(bytes) == flow);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        CHECK_FALSE(parse_flow(std::string_view{bytes}.substr(0, size)));
    }
}
