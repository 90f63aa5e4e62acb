#include "retry/api/dead_query.hpp"

#include "support/record_view.hpp"

#include <cstddef>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::retry;
using namespace std::chrono_literals;

namespace {

core::Timestamp at(int second) {
    return core::Timestamp{std::chrono::seconds{1'700'000'000 + second}};
}

/// Dead letters of one owner, of which one dies each second, among those of another one.
struct Letters {
    Letters() {
        for (int second = 0; second < kSeconds; ++second) {
            for (int i = 0; i < 100; ++i) add("noise", second);
            add("quiet", second);
        }
    }
    void add(const std::string& owner, int second) {
        const Delivery delivery{.id = "dlv_" + std::to_string(offset),
                                .webhook = owner,
                                .event = R"({"type":"order.created"})",
                                .accepted = at(0),
                                .last = Outcome::refused};
        index.apply(0, *test::ReadBack{encode_dead(delivery), offset, at(second)});
        ++offset;
    }
    LetterRights rights(const std::optional<std::string>& owner) {
        return {.owner = owner,
                .state_of = [this, owner](const DeadLetter& letter) -> const WebhookState* {
                    ++judged;
                    return owner && letter.owner != *owner ? nullptr : &enabled;
                }};
    }
    std::size_t listed(const DeadPage& page, const std::optional<std::string>& owner) {
        judged = 0;
        return list_letters(index, page, rights(owner)).letters.size();
    }
    std::size_t selected(const DeadOrder& order, const std::optional<std::string>& owner) {
        judged = 0;
        return select_letters(index, order, Settlement::dropped, rights(owner)).matched;
    }

    static constexpr int kSeconds = 10;
    DeadIndex index{DeadIndex::kLettersMax, [](const std::string& webhook) { return webhook; }};
    core::Offset offset = 0;
    std::size_t judged = 0;
    const WebhookState enabled{};
};

}  // namespace

// Fails where the letters of all owners are searched for those of one.
TEST_CASE("the cost of a list or an order follows from the caller's own dead letters",
          "[retry][dead][bounds]") {
    Letters letters;
    CHECK(letters.listed({.filter = {}, .after = {}, .limit = 100}, "quiet") == 10);
    CHECK(letters.judged == 10);
    CHECK(letters.selected({.filter = {}, .limit = 1}, "quiet") == 10);
    CHECK(letters.judged == 10);
    CHECK(letters.listed({.filter = {}, .after = {}, .limit = 100}, "nobody") == 0);
    CHECK(letters.judged == 0);
    CHECK(letters.selected({.filter = {}, .limit = 1}, std::nullopt) == 1'010);
}

TEST_CASE("a list and an order have the letters of the filter's time", "[retry][dead]") {
    Letters letters;
    const DeadFilter some{.since = at(3), .before = at(5)};
    CHECK(letters.listed({.filter = some, .after = {}, .limit = 100}, "quiet") == 2);
    CHECK(letters.selected({.filter = some, .limit = 1}, "quiet") == 2);
    CHECK(letters.selected({.filter = some, .limit = 1}, std::nullopt) == 202);
    // `after` of a page before.
    const auto first = list_letters(letters.index, {.filter = some, .after = {}, .limit = 1},
                                    letters.rights("quiet"));
    REQUIRE(first.next);
    CHECK(letters.listed({.filter = some, .after = first.next, .limit = 100}, "quiet") == 1);
    CHECK(letters.listed({.filter = {.since = at(99)}, .after = first.next, .limit = 100},
                         "quiet") == 0);
}
