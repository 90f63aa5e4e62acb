#include "store/rows/schema.hpp"

#include "store/edge_fixture.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::store;

using namespace beckon::store::test;

namespace {

template <class Row, class Append, class Parse>
auto round_trip(const Row& row, Append append, Parse parse) {
    std::string bytes;
    append(bytes, row);
    // Every cut is noticed: a torn value never passes for a whole one.
    return std::pair{parse(std::string_view{bytes}), bytes};
}

}  // namespace

TEST_CASE("row keys sort by partition, client, Topic before others, offset") {
    const std::vector<std::string> sorted{
        std::string{message_row_key(0, uaid_of("z"), {false, 9}).view()},
        std::string{message_row_key(1, uaid_of("a"), {true, 2}).view()},
        std::string{message_row_key(1, uaid_of("a"), {true, 300}).view()},
        std::string{message_row_key(1, uaid_of("a"), {false, 1}).view()},
        std::string{message_row_key(1, uaid_of("a"), {false, 256}).view()},
        std::string{message_row_key(1, uaid_of("b"), {true, 0}).view()},
        std::string{message_row_key(255, uaid_of("a"), {true, 0}).view()},
        std::string{message_row_key(256, uaid_of("a"), {true, 0}).view()},
        std::string{message_row_key(65'534, uaid_of("a"), {false, INT64_MAX}).view()},
        partition_begin(65'535),
    };
    CHECK(std::is_sorted(sorted.begin(), sorted.end()));
    for (const auto& key : sorted) {
        if (key.size() != kMessageRowKeyBytes) continue;
        const auto partition = partition_of_row(key);
        CHECK(message_row_key(partition, store::uaid_of_row(key), order_of_row(key)).view() == key);
        CHECK(key >= partition_begin(partition));
        CHECK(key < partition_begin(partition + 1));
    }
}

TEST_CASE("every value comes back as it was written, and cut short not at all") {
    const auto seed = GENERATE(range(0u, 50u));
    CAPTURE(seed);
    std::mt19937 random{seed};
    const auto number = [&](std::int64_t below) {
        return std::uniform_int_distribution<std::int64_t>{0, below - 1}(random);
    };
    const auto text = [&] {
        std::string out(static_cast<std::size_t>(number(300)), '\0');
        for (auto& c : out) c = static_cast<char>(number(256));
        return out;
    };
    const auto maybe_stamp = [&]() -> std::optional<core::WriteStamp> {
        if (number(2) == 0) return std::nullopt;
        return core::WriteStamp{static_cast<core::Epoch>(number(1'000'000)),
                                static_cast<std::uint64_t>(number(1'000'000))};
    };
    const std::vector<std::string> texts{text(), text(), text(), text(), text(), text(), text()};
    const auto maybe = [&](std::size_t i) -> std::optional<std::string_view> {
        if (number(2) == 0) return std::nullopt;
        return texts[i];
    };

    SECTION("message") {
        const MessageView in{.offset = number(1'000'000),
                             .appended = at(number(1000)),
                             .expiry = at(1000 + number(1000)),
                             .key = key_of(texts[0]),
                             .channel = channel_of(texts[1]),
                             .message_id = texts[0],
                             .topic = maybe(1),
                             .encoding = maybe(2),
                             .encryption = maybe(3),
                             .crypto_key = maybe(4),
                             .reliability_id = maybe(5),
                             .body = texts[6]};
        std::string bytes;
        append_message(bytes, in);
        const auto out = parse_message({.has_topic = false, .offset = in.offset}, bytes);
        CHECK((out == in));
        CHECK(drop_time(bytes) == in.expiry);
        const auto head = bytes.size() - in.body.size();
        for (std::size_t cut = 0; cut < head; ++cut) {
            CHECK_FALSE(parse_message({}, std::string_view{bytes}.substr(0, cut)));
        }
    }
    SECTION("key") {
        KeyRow in{.state = number(2) == 0 ? KeyRow::State::pending : KeyRow::State::done,
                  .offset = number(1000) - 1,
                  .until = at(number(1000)),
                  .slot = texts[0]};
        if (in.state == KeyRow::State::pending && number(2) == 0) in.reliability_id = "id-7";
        const auto [out, bytes] = round_trip(in, append_key_row, parse_key_row);
        CHECK(out == in);
        CHECK(drop_time(bytes) == in.until);
        CHECK_FALSE(parse_key_row(bytes.substr(0, 16)));
    }
    SECTION("client") {
        ClientRow in{.live = std::nullopt, .stamp = maybe_stamp(), .until = at(number(1000))};
        if (number(2) == 0) {
            in.live = StoredClient{.router_type = static_cast<core::RouterType>(number(4)),
                                   .router_data = texts[0],
                                   .created = at(number(1000)),
                                   .last_seen = at(number(1000)),
                                   .stamp = in.stamp};
            in.until = {};
        }
        const auto [out, bytes] = round_trip(in, append_client_row, parse_client_row);
        CHECK((out == in));
        CHECK(drop_time(bytes).has_value() == !in.live.has_value());
    }
    SECTION("channel") {
        const auto key = channel_row_key(1, uaid_of("u"), channel_of("c"));
        const auto stamp = maybe_stamp();
        const ChannelRow in{.live = StoredChannel{.channel = channel_of("c"),
                                                  .created = at(number(1000)),
                                                  .vapid_sha256 = texts[0],
                                                  .stamp = stamp},
                            .stamp = stamp,
                            .until = {}};
        std::string bytes;
        append_channel_row(bytes, in);
        CHECK((parse_channel_row(key.view(), bytes) == in));
        CHECK_FALSE(drop_time(bytes));
    }
    SECTION("pending tombstone, replacement, checkpoint") {
        PendingTombstone pending{.uaid = uaid_of("u"),
                                 .key = key_of("k"),
                                 .reason = static_cast<core::FinishReason>(number(6)),
                                 .put_offset = number(1000),
                                 .end = {}};
        if (number(2) == 0) {
            pending.end = {.message = {.id = "id-7", .expires = at(number(1000))},
                           .milestone = core::Milestone::decryption_error};
            if (number(2) == 0) pending.end->milestone.reset();
        }
        const auto key = pending_tombstone_row_key(3, pending.put_offset, pending.key);
        std::string bytes;
        append_pending_tombstone(bytes, pending);
        CHECK((parse_pending_tombstone(key.view(), bytes) == pending));
        CHECK_FALSE(drop_time(bytes));  // a pending tombstone stays until it is published

        const ReplacementRow replacement{
            .offset = number(1000), .expiry = at(number(1000)), .key = key_of("k")};
        const auto same = round_trip(replacement, append_replacement_row, parse_replacement_row);
        CHECK((same.first == replacement));
        CHECK(drop_time(same.second) == replacement.expiry);

        const core::Checkpoint checkpoint{
            .next = number(1000), .caught_up = at(number(1000)), .youngest = at(number(1000))};
        const auto again = round_trip(checkpoint, append_checkpoint, parse_checkpoint);
        CHECK((again.first == checkpoint));
    }
}

TEST_CASE("a value of one form does not pass for another") {
    std::string bytes;
    append_checkpoint(bytes, {});
    CHECK_FALSE(parse_key_row(bytes));
    CHECK_FALSE(parse_replacement_row(bytes));
    CHECK_FALSE(parse_client_row(bytes));
    CHECK_FALSE(parse_message({}, bytes));
    CHECK_FALSE(parse_checkpoint(""));
}

TEST_CASE("months have names, an end, and numbers in a row") {
    using namespace std::chrono;
    const auto at_date = [](year_month_day date) { return core::Timestamp{sys_days{date}}; };
    const Month november = month_of(at_date(2026y / November / 30));
    CHECK(month_family_name(november) == "messages.2026_11");
    CHECK(month_of(at_date(2026y / December / 1)) == november + 1);
    CHECK(month_of(at_date(2027y / January / 31)) == november + 2);
    CHECK(month_family_name(november + 1) == "messages.2026_12");
    CHECK(month_family_name(november + 2) == "messages.2027_01");
    CHECK(month_end(november) == at_date(2026y / December / 1));
    CHECK(month_end(november + 1) == at_date(2027y / January / 1));
    CHECK(month_of(month_end(november)) == november + 1);
    CHECK(month_of(month_end(november) - milliseconds{1}) == november);
    CHECK(parse_message_family_name("messages.2026_11") == november);
    CHECK(parse_message_family_name("messages.all") == kEveryMonth);
    // The family is found again whatever time the clock showed.
    CHECK(parse_message_family_name(month_family_name(month_of(at_date(12026y / May / 1)))) ==
          month_of(at_date(12026y / May / 1)));
    CHECK(parse_message_family_name(day_family_name(day_of(at_date(12026y / May / 1)))) ==
          day_of(at_date(12026y / May / 1)));
    for (const auto* wrong :
         {"messages", "messages.2026_13", "messages.26_1", "clients", "messages.2026_1",
          "messages.2026_11x", "messages.", "messages.2026-11", "messages.0000_01",
          "messages.2026_11_31x", "messages.2026_11-22", "messages.2026_02_30", "messages.+026_11",
          "messages.1970_01_01", "messages.20111111111111136_02_A8", "messages.2026_1111"}) {
        CAPTURE(wrong);
        CHECK_FALSE(parse_message_family_name(wrong));
    }
}
