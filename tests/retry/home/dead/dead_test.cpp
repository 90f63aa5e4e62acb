#include "records/dead_letter.hpp"
#include "retry/home/dead/dead_index.hpp"
#include "support/record_view.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;
using Ids = std::vector<std::string>;

namespace {

core::Timestamp at(int second) {
    return core::Timestamp{std::chrono::seconds{1'700'000'000 + second}};
}

Delivery dead(const std::string& id, std::uint32_t hop = 3, const std::string& webhook = "w") {
    return {.id = id,
            .webhook = webhook,
            .event = R"({"type":"order.created"})",
            .hop = hop,
            .attempts = 3,
            .step = 2,
            .accepted = at(0),
            .last = Outcome::refused};
}

struct Fold {
    explicit Fold(std::size_t letters_max = DeadIndex::kLettersMax,
                  DeadIndex::OwnerOf owner_of = {})
        : index(letters_max, std::move(owner_of)) {}
    void dead_letter(const Delivery& delivery) { add(encode_dead(delivery)); }
    void settle(const std::string& id, std::uint32_t hop) {
        add(encode(Settled{.delivery = id, .webhook = "w", .hop = hop}));
    }
    void add(const core::Record& record) {
        index.apply(1, *test::ReadBack{record, offset, at(static_cast<int>(offset))});
        ++offset;
    }
    Ids ids(const DeadFilter& filter = {}) const {
        Ids out;
        index.each(std::nullopt, [&](const DeadLetter& letter) {
            if (filter.admits(letter)) out.push_back(letter.delivery);
            return true;
        });
        return out;
    }
    DeadIndex index;
    core::Offset offset = 0;
};

}  // namespace

TEST_CASE("dead letters are listed until they are settled, the oldest first", "[retry][dead]") {
    Fold fold;
    for (const char* id : {"a", "b", "c"}) fold.dead_letter(dead(id));
    CHECK(fold.ids() == Ids{"a", "b", "c"});
    fold.settle("b", 3);
    CHECK(fold.ids() == Ids{"a", "c"});
    CHECK(fold.index.find("b") == nullptr);
    CHECK(fold.index.find("c")->type == "order.created");
}

TEST_CASE("a delivery that dies again is another letter, which the old settlement leaves",
          "[retry][dead]") {
    Fold fold;
    fold.dead_letter(dead("a", 3));
    fold.settle("a", 3);
    fold.dead_letter(dead("a", 7));
    fold.settle("a", 3);  // read again
    CHECK(fold.ids() == Ids{"a"});
    fold.dead_letter(dead("a", 7));  // a copy
    CHECK(fold.index.find("a")->place.offset == 2);
    CHECK(fold.index.size() == 1);
}

TEST_CASE("beyond the bound of letters the oldest are passed over, and counted", "[retry][dead]") {
    Fold fold{2};
    for (const char* id : {"a", "b", "c", "d"}) fold.dead_letter(dead(id));
    CHECK(fold.ids() == Ids{"c", "d"});
    CHECK(fold.index.passed_over() == 2);
}

// Fails where letters that are settled take the space of those that were passed over: the
// settlements stand behind all of them.
TEST_CASE("a successor lists what was passed over, and leaves out what is settled",
          "[retry][dead]") {
    Fold fold{4};
    for (const char* id : {"a", "b", "c", "d", "e", "f", "g", "h"}) fold.dead_letter(dead(id));
    CHECK_FALSE(fold.index.has_space_again());
    for (const char* id : {"e", "f"}) fold.settle(id, 3);
    CHECK_FALSE(fold.index.has_space_again());  // half of them are there still
    fold.settle("g", 3);
    REQUIRE(fold.index.has_space_again());
    Fold next{4};
    next.index = fold.index.successor();
    for (const char* id : {"a", "b", "c", "d", "e", "f", "g"}) next.dead_letter(dead(id));
    // Its settlement is written, and neither fold has read it.
    fold.index.forget(DeadLetter{*fold.index.find("h")});
    next.dead_letter(dead("h"));
    CHECK(next.ids() == Ids{"a", "b", "c", "d"});
    fold.settle("b", 3);  // after the other has read it
    next.index.succeed();
    CHECK(next.ids() == Ids{"a", "c", "d"});
    CHECK(next.index.passed_over() == 0);
}

// Fails where the oldest of all go first.
TEST_CASE("one owner's dead letters push out nobody else's", "[retry][dead][bounds]") {
    Fold fold{20, [](const std::string& webhook) { return webhook.substr(0, 1); }};
    fold.dead_letter(dead("quiet", 3, "q"));
    for (int i = 0; i < 500; ++i) {
        fold.dead_letter(dead("d" + std::to_string(i), 3, "b" + std::to_string(i % 7)));
    }
    CHECK(fold.index.size() == 20);
    CHECK(fold.index.find("quiet") != nullptr);
    CHECK(fold.index.find("d499") != nullptr);
    CHECK(fold.index.find("d480") == nullptr);
    CHECK(fold.index.passed_over() == 481);
}

TEST_CASE("an owner's dead letters are visited without those of others, in order",
          "[retry][dead]") {
    Fold fold{1'000, [](const std::string& webhook) { return webhook.substr(0, 1); }};
    fold.dead_letter(dead("first", 3, "q1"));
    for (int i = 0; i < 500; ++i) fold.dead_letter(dead("d" + std::to_string(i), 3, "b"));
    fold.dead_letter(dead("second", 3, "q2"));
    Ids visited;
    const auto note = [&](const DeadLetter& letter) {
        visited.push_back(letter.delivery);
        return true;
    };
    fold.index.each_of("q", std::nullopt, note);
    CHECK(visited == Ids{"first", "second"});
    visited.clear();
    fold.index.each_of("q", fold.index.find("first")->place, note);
    CHECK(visited == Ids{"second"});
    fold.settle("second", 3);
    visited.clear();
    fold.index.each_of("q", std::nullopt, note);
    fold.index.each_of("nobody", std::nullopt, note);
    CHECK(visited == Ids{"first"});
}

// The letters and the webhooks are two topics: nothing orders their readers.
TEST_CASE("a dead letter that is read before its webhook is the owner's afterwards",
          "[retry][dead]") {
    std::map<std::string, std::string> owners;
    Fold fold{3, [&](const std::string& webhook) { return owners[webhook]; }};
    fold.dead_letter(dead("a", 3, "w"));
    fold.dead_letter(dead("b", 3, "v"));
    const auto count_of = [&](const std::string& owner) {
        std::size_t count = 0;
        fold.index.each_of(owner, std::nullopt, [&](const DeadLetter&) { return ++count > 0; });
        return count;
    };
    CHECK(count_of("shop") == 0);
    owners = {{"w", "shop"}, {"v", "shop"}};
    fold.index.webhook_known("w");
    CHECK(count_of("shop") == 1);
    fold.index.webhook_known("v");
    fold.index.webhook_known("v");  // a change of it
    CHECK(count_of("shop") == 2);
    CHECK(count_of("") == 0);
    // It counts as the owner's where space is short.
    owners["x"] = "other";
    fold.dead_letter(dead("c", 3, "x"));
    fold.dead_letter(dead("d", 3, "x"));
    CHECK(fold.index.find("a") == nullptr);
    CHECK(count_of("shop") == 1);
    CHECK(count_of("other") == 2);
}

TEST_CASE("a filter admits what all of its fields admit", "[retry][dead]") {
    Fold fold;
    fold.dead_letter(dead("a", 3, "w"));
    fold.dead_letter(dead("b", 3, "v"));
    CHECK(fold.ids({.webhook = "v"}) == Ids{"b"});
    CHECK(fold.ids({.type = "order.*"}) == Ids{"a", "b"});
    CHECK(fold.ids({.type = "order"}).empty());
    CHECK(fold.ids({.why = Outcome::timed_out}).empty());
    CHECK(fold.ids({.since = at(1)}) == Ids{"b"});
    CHECK(fold.ids({.before = at(1)}) == Ids{"a"});
    CHECK(fold.ids({.deliveries = {"b", "x"}}) == Ids{"b"});
}

TEST_CASE("a place comes back from its text, and nothing else does", "[retry][dead]") {
    const LetterPlace place{at(5), 3, 77};
    CHECK(LetterPlace::parse(place.text()) == place);
    for (const char* bad :
         {"", "1", "1.2", "1.2.3.4", "a.b.c", "1.2.-3", "1.2.3x", "1.99999999999.3"}) {
        CAPTURE(bad);
        CHECK_FALSE(LetterPlace::parse(bad));
    }
}

TEST_CASE("a redrive keeps the id, begins anew, and remembers every dead letter", "[retry][dead]") {
    auto delivery = reborn(dead("a"), at(9));
    CHECK(delivery.id == "a");
    CHECK(delivery.hop == 4);
    CHECK(delivery.attempts == 0);
    CHECK(delivery.step == 0);
    CHECK(delivery.history == std::vector<PastDeadLetter>{{at(9), Outcome::refused, 3}});
    for (int i = 0; i < 20; ++i) {
        delivery.last = Outcome::timed_out;
        delivery = reborn(delivery, at(20 + i));
    }
    CHECK(delivery.history.size() == kHistoryMax);
    CHECK(delivery.history.back().at == at(39));
    // It is as old as the log says that its record is, whatever the host's clock does.
    delivery.accepted = at(50);
    const auto record = encode(reborn(dead("a"), at(9)));
    CHECK(decode_delivery(*test::ReadBack{record, 7, at(50)})->accepted == at(50));
    CHECK(*decode_delivery(*test::ReadBack{encode(delivery)}) == delivery);
}

TEST_CASE("a settlement comes back from its record, and another record is none", "[retry][dead]") {
    const Settled settled{.delivery = "a", .webhook = "w", .hop = 5, .how = Settlement::dropped};
    CHECK(*decode_settled(*test::ReadBack{encode(settled)}) == settled);
    CHECK(decode_settled(*test::ReadBack{encode_dead(dead("a"))}).error().fault ==
          core::Fault::not_found);
    auto broken = encode(settled);
    broken.headers[3].value = "five";
    CHECK(decode_settled(*test::ReadBack{broken}).error().fault == core::Fault::corrupt);
}
