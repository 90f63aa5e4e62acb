#include "store/edge_store.hpp"

#include "store/edge_fixture.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::store;

using namespace beckon::store::test;
using core::FinishReason;

namespace {

constexpr Message kTracked{.ttl_s = 60, .reliability_id = "id-1"};

}  // namespace

// --- a message's life

TEST_CASE("a message waits until it is acknowledged") {
    EdgeFixture f;
    CHECK(f.put(1, "m1") == PutOutcome::pending);
    CHECK(f.drain() == "m1");
    CHECK(f.add_tombstone("m1", FinishReason::acked));
    CHECK(f.drain().empty());
    CHECK(f.pending_tombstones() == "m1:acked");
    CHECK(f.finish("m1"));
    CHECK(f.pending_tombstones().empty());
}

TEST_CASE("a message keeps all that its client receives") {
    EdgeFixture f;
    const std::string body("\0\xff raw", 6);
    auto event = accepted(
        f.uaid, "m1",
        {.ttl_s = 60, .channel = "c9", .topic = "news", .body = body, .reliability_id = "r1"});
    event.encoding = "aesgcm";
    event.encryption = "salt=x";
    event.crypto_key = "dh=y";
    f.part().put(7, at(7), event, nullptr);
    if (GENERATE(false, true)) f.commit();  // the same from memory and from the disk

    DrainCursor cursor{.until = 8};
    std::size_t seen = 0;
    f.part().read_pending(f.uaid, cursor, 10, at(8), [&](const MessageView& m) {
        ++seen;
        CHECK(m.offset == 7);
        CHECK(m.appended == at(7));
        CHECK(m.expiry == at(67));
        CHECK(m.key == key_of("m1"));
        CHECK(m.channel == channel_of("c9"));
        CHECK(m.message_id == "m1");
        CHECK(m.topic == "news");
        CHECK(m.encoding == "aesgcm");
        CHECK(m.encryption == "salt=x");
        CHECK(m.crypto_key == "dh=y");
        CHECK(m.reliability_id == "r1");
        CHECK(m.body == body);
    });
    CHECK(seen == 1);
}

TEST_CASE("a message without optional parts comes back without them") {
    EdgeFixture f;
    f.put(1, "m1", {.body = ""});
    f.commit();
    DrainCursor cursor{.until = 2};
    f.part().read_pending(f.uaid, cursor, 10, at(2), [&](const MessageView& m) {
        CHECK_FALSE(m.topic);
        CHECK_FALSE(m.encoding);
        CHECK_FALSE(m.reliability_id);
        CHECK(m.body.empty());
    });
}

TEST_CASE("a tracked message is known as such, and its pending tombstone says how it ended") {
    using core::Milestone;
    EdgeFixture f;
    f.put(1, "m1", kTracked);
    f.put(2, "m2");
    if (GENERATE(false, true)) {
        f.commit();
        f.reopen();
    }
    const core::Tracked message{.id = "id-1", .expires = at(61)};
    CHECK(f.part().tracked(f.uaid, key_of("m1")) == message);
    CHECK_FALSE(f.part().tracked(f.uaid, key_of("m2")));
    CHECK_FALSE(f.part().tracked(f.uaid, key_of("m3")));

    CHECK(f.part().add_tombstone(f.uaid, key_of("m1"), FinishReason::acked,
                                 Milestone::decryption_error));
    CHECK(f.part().add_tombstone(f.uaid, key_of("m2"), FinishReason::acked, Milestone::delivered));
    CHECK_FALSE(f.part().tracked(f.uaid, key_of("m1")));
    f.commit();
    f.reopen();
    const auto pending_tombstones = f.part().pending_tombstones();
    REQUIRE(pending_tombstones.size() == 2);
    CHECK(pending_tombstones[0].end == PendingTombstone::End{message, Milestone::decryption_error});
    CHECK_FALSE(pending_tombstones[1].end);  // nobody tracks it
}

TEST_CASE(
    "a tracked message that another of its Topic replaces has a pending tombstone with that end") {
    EdgeFixture f;
    f.put(1, "older", {.ttl_s = 60, .topic = "t", .reliability_id = "id-1"});
    if (GENERATE(false, true)) {
        f.commit();
        f.reopen();
    }
    const auto newer_at = GENERATE(2, 60, 61);  // at 61 it is over, and expires
    f.part().put(2, at(newer_at), accepted(f.uaid, "newer", {.topic = "t"}), nullptr);
    f.commit();
    f.reopen();
    const auto pending_tombstones = f.part().pending_tombstones();
    REQUIRE(pending_tombstones.size() == (newer_at < 61 ? 1 : 0));
    if (newer_at == 61) return;
    CHECK(pending_tombstones[0].key == key_of("older"));
    CHECK(pending_tombstones[0].reason == FinishReason::replaced);
    CHECK(pending_tombstones[0].end ==
          PendingTombstone::End{{"id-1", at(61)}, core::Milestone::replaced});
}
TEST_CASE("a tracked message that its sender deletes has a pending tombstone with that end") {
    EdgeFixture f;
    f.put(1, "m1", kTracked);
    f.put(2, "m2");  // nobody tracks it
    CHECK(f.finish("m1", 2, FinishReason::deleted));
    CHECK(f.finish("m2", 2, FinishReason::deleted));
    f.commit();
    f.reopen();
    CHECK(f.drain(3).empty());
    const auto pending_tombstones = f.part().pending_tombstones();
    REQUIRE(pending_tombstones.size() == 1);
    CHECK(pending_tombstones[0].key == key_of("m1"));
    CHECK(pending_tombstones[0].end ==
          PendingTombstone::End{{"id-1", at(61)}, core::Milestone::deleted});
    CHECK(f.finish("m1", 3, FinishReason::deleted));  // the one that was pending is read back
    CHECK(f.part().pending_tombstones().empty());
    CHECK(f.finish("m1", 4, FinishReason::deleted));
    CHECK(f.part().pending_tombstones().empty());
}
TEST_CASE("a tracked message that has ended otherwise does not end as deleted") {
    EdgeFixture f;
    f.put(1, "m1", kTracked);
    SECTION("its TTL had ended") { CHECK(f.finish("m1", 61, FinishReason::deleted)); }
    SECTION("another tombstone came") { CHECK(f.finish("m1", 2, FinishReason::dropped)); }
    CHECK(f.part().pending_tombstones().empty());
}
/// One of them decided an end before it read the sender's tombstone, or none did.
TEST_CASE("two stores have the same pending tombstones when a tracked message is deleted") {
    EdgeFixture serving;
    EdgeFixture rebuilt;
    const bool reopened = GENERATE(false, true);
    for (auto* f : {&serving, &rebuilt}) f->put(1, "m1", kTracked);
    std::optional<core::Milestone> milestone;
    SECTION("the client had acknowledged it") {
        milestone = core::Milestone::delivered;
        serving.part().add_acked_tombstone(serving.uaid, key_of("m1"), milestone);
    }
    SECTION("its home had found it expired") {
        milestone = core::Milestone::expired;
        serving.part().add_tombstone(serving.uaid, key_of("m1"), FinishReason::expired, milestone);
    }
    SECTION("its channel had gone") {
        serving.part().add_tombstone(serving.uaid, key_of("m1"), FinishReason::unregistered);
    }
    const auto deleted_at = GENERATE(2, 61);  // at 61 its TTL had ended
    const auto finish = [&](FinishReason reason, int when) {
        for (auto* f : {&serving, &rebuilt}) {
            f->commit();
            if (reopened) f->reopen();
            f->part().finish(
                {.uaid = serving.uaid, .key = key_of("m1"), .reason = reason, .source = {}},
                at(when));
            f->commit();
        }
    };
    finish(FinishReason::deleted, deleted_at);
    const auto here = serving.part().pending_tombstones();
    const auto there = rebuilt.part().pending_tombstones();
    REQUIRE(here.size() == (deleted_at == 2 ? 1 : 0));
    REQUIRE(there.size() == here.size());
    if (here.empty()) return;
    CHECK(here[0].reason == FinishReason::deleted);
    CHECK(here[0].put_offset == there[0].put_offset);
    CHECK(here[0].end == PendingTombstone::End{{"id-1", at(61)}, milestone});
    CHECK(there[0].end == PendingTombstone::End{{"id-1", at(61)}, core::Milestone::deleted});
    finish(GENERATE(FinishReason::acked, FinishReason::deleted), 3);
    CHECK(serving.part().pending_tombstones().empty());
    CHECK(serving.part().digest(at(3)) == rebuilt.part().digest(at(3)));
}
TEST_CASE("a tracked message that a read finds expired has a pending tombstone with that end") {
    EdgeFixture f;
    f.put(1, "m1", {.ttl_s = 10, .reliability_id = "id-1"});
    CHECK(f.drain(11).empty());
    const auto pending_tombstones = f.part().pending_tombstones();
    REQUIRE(pending_tombstones.size() == 1);
    CHECK(pending_tombstones[0].end ==
          PendingTombstone::End{{"id-1", at(11)}, core::Milestone::expired});
}

TEST_CASE("an ack of one client does not touch another's message") {
    EdgeFixture f;
    f.put(1, "m1");
    CHECK_FALSE(f.part().add_tombstone(uaid_of("client-2"), key_of("m1"), FinishReason::acked));
    CHECK(f.drain() == "m1");
}

TEST_CASE("a tombstone of somebody else ends a message that still waits") {
    EdgeFixture f;
    f.put(1, "m1");
    if (GENERATE(false, true)) f.commit();
    CHECK(f.finish("m1"));
    CHECK(f.drain().empty());
    CHECK(f.pending_tombstones().empty());
    CHECK(f.finish("m1"));  // repeated: still known
}

TEST_CASE("a record that is folded twice changes nothing") {
    EdgeFixture f;
    f.put(1, "m1");
    f.put(2, "m2");
    f.add_tombstone("m2");
    SECTION("by its key") {}
    SECTION("by its key, from the disk") { f.commit(); }
    SECTION("by its offset") {
        f.part().advance(Source::notifications, 3, std::nullopt);
        f.commit();
        f.reopen();
    }
    CHECK(f.put(1, "m1") == PutOutcome::repeated);
    CHECK(f.put(2, "m2") == PutOutcome::repeated);
    CHECK(f.drain() == "m1");
    CHECK(f.pending_tombstones() == "m2:acked");
}

TEST_CASE("a message below the checkpoint does not come back, however long it has been finished") {
    EdgeFixture f;
    f.put(1, "m1");
    CHECK(f.finish("m1", 2));
    f.part().advance(Source::notifications, 3, std::nullopt);
    f.commit();
    f.reopen();  // nothing is remembered of it
    CHECK(f.put(1, "m1") == PutOutcome::repeated);
    CHECK(f.drain().empty());
    CHECK(f.put(4, "m2") == PutOutcome::pending);
    CHECK(f.drain() == "m2");
}

// --- tombstones that come first

TEST_CASE("a put after its tombstone does not come back: its tombstone is pending again") {
    EdgeFixture f;
    SECTION("the put was never seen before") { CHECK_FALSE(f.finish("m1", 1)); }
    SECTION("the same, after a restart") {
        CHECK_FALSE(f.finish("m1", 1));
        f.commit();
        f.reopen();
    }
    SECTION("it was seen, and finished by its reader") {
        f.put(0, "m1");
        f.add_tombstone("m1");
        f.finish("m1", 1);
    }
    CHECK(f.put(5, "m1") == PutOutcome::finished);
    CHECK(f.drain().empty());
    CHECK(f.pending_tombstones() == "m1:dropped");
    CHECK(f.put(5, "m1") == PutOutcome::repeated);
    CHECK(f.finish("m1", 6));
    CHECK(f.pending_tombstones().empty());
}

TEST_CASE("a tombstone is remembered for ten minutes of the log's time") {
    EdgeFixture f;
    f.finish("m1", 0);
    f.finish("m2", 0);
    CHECK(f.put(599, "m1") == PutOutcome::finished);
    CHECK(f.put(600, "m2") == PutOutcome::pending);
    CHECK(f.drain(601) == "m2");
    CHECK(f.finish("m2", 602));
    CHECK(f.drain(603).empty());
}

// --- TTL

TEST_CASE("TTL 0 is never stored: its tombstone is pending at once") {
    EdgeFixture f;
    CHECK(f.put(1, "m1", {.ttl_s = 0}) == PutOutcome::ttl_zero);
    CHECK(f.drain().empty());
    CHECK(f.pending_tombstones() == "m1:expired");
    CHECK(f.put(1, "m1", {.ttl_s = 0}) == PutOutcome::repeated);
    f.commit();
    f.reopen();
    CHECK(f.pending_tombstones() == "m1:expired");
    CHECK_FALSE(f.add_tombstone("m1"));
    CHECK(f.finish("m1"));
    CHECK(f.pending_tombstones().empty());
}

TEST_CASE(
    "a message expires at append time plus TTL, and its tombstone is pending once a drain meets "
    "it") {
    EdgeFixture f;
    f.put(1, "m1", {.ttl_s = 10});
    f.put(2, "m2", {.ttl_s = 100});
    if (GENERATE(false, true)) f.commit();
    CHECK(f.drain(10) == "m1 m2");
    CHECK(f.drain(11) == "m2");
    CHECK(f.pending_tombstones() == "m1:expired");
    CHECK(f.part().pending_count(f.uaid) == 1);
}

TEST_CASE("no message waits longer than the bound on families allows") {
    EdgeFixture f;
    f.put(1, "m1", {.ttl_s = 4'000'000'000});
    constexpr std::int64_t kYearS = 366 * 86'400;
    CHECK(f.drain(kYearS) == "m1");
    CHECK(f.drain(kYearS + 1).empty());
}

// --- drains

TEST_CASE("a drain ends below its `until`, whatever is folded meanwhile") {
    EdgeFixture f;
    f.put(1, "a", {.topic = "x"});
    f.put(2, "b");
    f.put(3, "c");
    DrainCursor cursor{.until = 3};
    CHECK(f.read(cursor, 1) == "a");
    f.put(4, "d", {.topic = "y"});
    f.put(5, "e");
    f.commit();
    CHECK(f.read(cursor, 1) == "b done");
    CHECK(f.read(cursor, 1) == "done");
    DrainCursor all{.until = 6};
    CHECK(f.read(all, 10) == "a d b c e done");
}

TEST_CASE("a drain passes over what is before its `from`, with a Topic or without") {
    EdgeFixture f;
    f.put(1, "a", {.topic = "x"});
    f.put(2, "b");
    f.put(3, "c");
    f.put(4, "d", {.topic = "y"});
    f.put(5, "e");
    DrainCursor cursor{.until = 6, .from = 3};
    CHECK(f.read(cursor, 1) == "d");
    CHECK(f.read(cursor, 1) == "c");
    CHECK(f.read(cursor, 1) == "e done");
    DrainCursor plain{.until = 6, .from = 5};
    CHECK(f.read(plain, 10) == "e done");
    DrainCursor none{.until = 6, .from = 6};
    CHECK(f.read(none, 10) == "done");
}

TEST_CASE("a drain goes on behind its cursor") {
    EdgeFixture f;
    for (int i = 1; i <= 9; ++i) f.put(i, "m" + std::to_string(i));
    f.commit();
    DrainCursor cursor{.until = 10};
    CHECK(f.read(cursor, 4) == "m1 m2 m3 m4");
    f.add_tombstone("m2");
    f.add_tombstone("m6");
    CHECK(f.read(cursor, 4) == "m5 m7 m8 m9 done");
}

TEST_CASE("one read skips a bounded number of expired messages, and says that there is more") {
    EdgeFixture f;
    const int expired = static_cast<int>(PartitionStore::kSkipMax) + 5;
    for (int i = 1; i <= expired; ++i) f.put(i, "x" + std::to_string(i), {.ttl_s = 1});
    f.put(expired + 1, "live", {.ttl_s = 86'400});
    f.commit();
    DrainCursor cursor{.until = 100'000};
    CHECK(f.read(cursor, 10, 5000).empty());
    CHECK(f.read(cursor, 10, 5000) == "live done");
    CHECK(f.part().pending_tombstones().size() == static_cast<std::size_t>(expired));
    CHECK(f.part().pending_count(f.uaid) == 1);
}

TEST_CASE("counting stops at its limit") {
    EdgeFixture f;
    for (int i = 1; i <= 20; ++i) f.put(i, "m" + std::to_string(i));
    CHECK(f.part().pending_count(f.uaid) == 20);
    CHECK(f.part().pending_count(f.uaid, 7) == 7);
    CHECK(f.part().pending_count(f.uaid, 0) == 0);
}

// --- pending tombstones

TEST_CASE(
    "new pending tombstones are listed once, without those that are published, in the order of "
    "their puts") {
    EdgeFixture f;
    f.put(1, "old", {.topic = "t"});
    f.put(2, "b");
    f.add_tombstone("b");
    f.put(3, "new", {.topic = "t"});
    f.add_tombstone("new");
    CHECK(f.new_pending_tombstones() == "old:replaced b:acked new:acked");
    CHECK(f.new_pending_tombstones().empty());
    f.put(4, "d", {.ttl_s = 0});
    f.put(5, "e", {.ttl_s = 0});
    f.finish("d");
    CHECK(f.new_pending_tombstones() == "e:expired");
    f.put(6, "f", {.ttl_s = 0});
    CHECK(f.pending_tombstones() == "old:replaced b:acked new:acked e:expired f:expired");
    CHECK(f.new_pending_tombstones() == "f:expired");
}

TEST_CASE("pending tombstones are read in portions, in the order of their puts") {
    EdgeFixture f;
    for (int i = 1; i <= 5; ++i) f.put(i, "m" + std::to_string(i), {.ttl_s = 0});
    f.finish("m2");
    if (GENERATE(false, true)) {
        f.commit();
        f.reopen();
    }
    const auto first = f.part().pending_tombstones_after(std::nullopt, 2);
    REQUIRE(first.size() == 2);
    CHECK(first[0].put_offset == 1);
    CHECK(first[1].put_offset == 3);
    const auto rest = f.part().pending_tombstones_after(first[1], 10);
    REQUIRE(rest.size() == 2);
    CHECK(rest[0].put_offset == 4);
    CHECK(f.part().pending_tombstone_count() == 4);
}

TEST_CASE("pending tombstones outlive a restart and end with their tombstones") {
    EdgeFixture f;
    f.put(1, "m1");
    f.put(2, "m2");
    f.add_tombstone("m1");
    f.add_tombstone("m2");
    f.commit();
    f.reopen();
    CHECK(f.pending_tombstones() == "m1:acked m2:acked");
    f.finish("m1");
    f.commit();
    f.reopen();
    CHECK(f.pending_tombstones() == "m2:acked");
}

TEST_CASE("an acknowledgement stays in memory until its tombstone is folded") {
    EdgeFixture f;
    f.put(1, "m1");
    f.put(2, "m2");
    f.commit();
    REQUIRE(f.add_acked_tombstone("m1"));
    CHECK_FALSE(f.part().dirty());
    CHECK(f.drain() == "m2");
    CHECK(f.part().pending_count(f.uaid) == 1);
    CHECK(f.pending_tombstones() == "m1:acked");
    CHECK(f.new_pending_tombstones() == "m1:acked");
    CHECK_FALSE(f.add_acked_tombstone("m1"));

    SECTION("a commit leaves it out, and a crash delivers the message again") {
        f.put(3, "m3");
        f.commit();
        CHECK(f.pending_tombstones() == "m1:acked");
        f.reopen();
        CHECK(f.drain() == "m1 m2 m3");
        CHECK(f.pending_tombstones().empty());
    }
    SECTION("its tombstone removes the message, and the pending tombstone was never there") {
        REQUIRE(f.finish("m1"));
        CHECK(f.part().dirty());
        CHECK(f.pending_tombstones().empty());
        f.commit();
        f.reopen();
        CHECK(f.drain() == "m2");
        CHECK(f.pending_tombstones().empty());
    }
    SECTION("it is written when it has waited for a period") {
        f.part().write_postponed(false);
        CHECK_FALSE(f.part().dirty());
        f.part().write_postponed(false);
        CHECK(f.part().dirty());
        f.commit();
        f.reopen();
        CHECK(f.drain() == "m2");
        CHECK(f.pending_tombstones() == "m1:acked");
    }
    SECTION("it is written when all are") {
        f.part().write_postponed(true);
        f.commit();
        f.reopen();
        CHECK(f.pending_tombstones() == "m1:acked");
    }
    SECTION("another put of its key finds its tombstone pending, and leaves no part of it behind") {
        CHECK(f.put(3, "m1") == PutOutcome::finished);
        f.commit();
        f.reopen();
        CHECK(f.drain() == "m2");
        CHECK(f.pending_tombstones() == "m1:dropped");
    }
    SECTION("what is dropped is not written later") {
        REQUIRE(f.part().clear());
        CHECK(f.pending_tombstones().empty());
        f.part().write_postponed(true);
        CHECK_FALSE(f.part().dirty());
    }
}

TEST_CASE("an acknowledgement from which other rows follow is written with the next commit") {
    EdgeFixture f;
    f.put(1, "topic", {.topic = "t"});
    f.put(2, "receipt");
    f.part().put_receipt(
        key_of("receipt"),
        {.uaid = f.uaid, .expiry = at(5000), .subscription = "s", .message_id = "m"});
    f.put(3, "tracked", {.reliability_id = "r1"});
    f.commit();
    const auto* const name = GENERATE("topic", "receipt", "tracked", "new");
    CAPTURE(name);
    f.put(4, "new");
    f.part().advance(Source::notifications, 5, std::nullopt);
    REQUIRE(f.add_acked_tombstone(name));
    f.commit();
    f.reopen();
    CHECK(f.pending_tombstones() == std::string{name} + ":acked");
}

TEST_CASE("of acknowledgements a bounded number stays in memory") {
    EdgeFixture f;
    for (int i = 1; i <= 4'097; ++i) f.put(i, "m" + std::to_string(i));
    f.commit();
    for (int i = 1; i <= 4'096; ++i) f.add_acked_tombstone("m" + std::to_string(i));
    CHECK_FALSE(f.part().dirty());
    f.add_acked_tombstone("m4097");
    CHECK(f.part().dirty());
}

TEST_CASE("a standby that never takes its new pending tombstones holds few of them") {
    EdgeFixture f;
    for (int i = 1; i <= 20'000; ++i) f.put(i, "z" + std::to_string(i), {.ttl_s = 0});
    for (int i = 1; i <= 19'990; ++i) f.finish("z" + std::to_string(i));
    const auto fresh = f.part().take_new_pending_tombstones();
    CHECK(fresh.left_out);
    CHECK(fresh.pending_tombstones.empty());
    CHECK(f.part().pending_tombstone_count() == 10);
    const auto pending_tombstones = f.part().pending_tombstones();
    REQUIRE(pending_tombstones.size() == 10);
    CHECK(pending_tombstones.front().put_offset == 19'991);
    CHECK(pending_tombstones.back().put_offset == 20'000);
}

// --- commits

TEST_CASE("committed rows are there after a restart, offsets included") {
    EdgeFixture f;
    f.put(1, "m1");
    f.part().advance(Source::notifications, 2, at(5));
    CHECK(f.part().dirty());
    f.commit();
    CHECK_FALSE(f.part().dirty());
    f.reopen();
    CHECK(f.drain() == "m1");
    REQUIRE(f.part().checkpoint(Source::notifications));
    CHECK(f.part().checkpoint(Source::notifications)->next == 2);
    CHECK(f.part().checkpoint(Source::notifications)->caught_up == at(5));
    CHECK_FALSE(f.part().checkpoint(Source::subscriptions));
}

TEST_CASE("uncommitted rows are seen at once, and gone after a crash") {
    EdgeFixture f;
    f.put(1, "m1");
    f.part().advance(Source::notifications, 2, std::nullopt);
    f.commit();
    f.put(2, "m2");
    f.add_tombstone("m1");
    f.part().advance(Source::notifications, 3, std::nullopt);
    CHECK(f.drain() == "m2");
    CHECK(f.part().checkpoint(Source::notifications)->next == 3);
    f.reopen();
    CHECK(f.drain() == "m1");
    CHECK(f.pending_tombstones().empty());
    CHECK(f.part().checkpoint(Source::notifications)->next == 2);
}

TEST_CASE("an advance without news keeps when the end was last seen") {
    EdgeFixture f;
    f.part().advance(Source::subscriptions, 5, at(9));
    f.part().advance(Source::subscriptions, 6, std::nullopt);
    CHECK(f.part().checkpoint(Source::subscriptions)->next == 6);
    CHECK(f.part().checkpoint(Source::subscriptions)->caught_up == at(9));
}

TEST_CASE("a commit is due when much has collected, not when it came and went") {
    EdgeFixture f;
    for (int i = 0; i < 20'000; ++i) {
        const std::string name = "m" + std::to_string(i);
        f.put(i, name);
        f.add_tombstone(name);
        f.finish(name);
    }
    CHECK_FALSE(f.part().commit_due());
    for (int i = 0; i < 5'000; ++i) f.put(30'000 + i, "n" + std::to_string(i));
    CHECK(f.part().commit_due());
    f.commit();
    CHECK_FALSE(f.part().commit_due());
}

TEST_CASE("clearing a partition takes all of it, and nothing of its neighbours") {
    EdgeFixture f;
    auto before = f.store().open_partition(2);
    auto after = f.store().open_partition(4);
    auto last = f.store().open_partition(65'534);
    for (auto* other : {before.get(), after.get(), last.get()}) {
        other->put(1, at(1), accepted(f.uaid, "other"), nullptr);
        REQUIRE(other->commit());
    }
    f.put(1, "m1", {.topic = "t"});
    f.put(2, "m2", {.ttl_s = 0});
    f.part().put_client({.uaid = f.uaid});
    f.part().put_channel({.uaid = f.uaid, .channel = channel_of("c1")});
    f.part().advance(Source::notifications, 3, at(1));
    f.commit();
    f.put(3, "m3");

    REQUIRE(f.part().clear());
    CHECK_FALSE(f.part().dirty());
    CHECK(f.drain().empty());
    CHECK(f.pending_tombstones().empty());
    CHECK(f.new_pending_tombstones().empty());
    CHECK_FALSE(f.part().client(f.uaid));
    CHECK_FALSE(f.part().checkpoint(Source::notifications));
    REQUIRE(last->clear());
    for (auto* other : {before.get(), after.get()}) CHECK(other->pending_count(f.uaid) == 1);
    CHECK(last->pending_count(f.uaid) == 0);

    f.put(1, "m1", {.topic = "t"});  // and the restore begins anew
    CHECK(f.replaced().empty());
    CHECK(f.drain() == "m1");
}

// --- digests

TEST_CASE("a digest distinguishes states and does not depend on the route there") {
    EdgeFixture f;
    const auto digest = [&] {
        f.commit();
        return f.part().digest(at(100));
    };
    const auto empty = digest();
    f.put(1, "m1", {.ttl_s = 200});
    const auto one = digest();
    CHECK(one != empty);
    f.put(2, "m2", {.ttl_s = 200});
    CHECK(digest() != one);
    f.add_tombstone("m2");
    CHECK(digest() != one);  // its tombstone is pending still
    f.finish("m2");
    CHECK(digest() == one);
    f.put(3, "m3", {.ttl_s = 10});
    CHECK(digest() == one);  // expired by then
    f.part().put_channel({.uaid = f.uaid, .channel = channel_of("c1")});
    CHECK(digest() == one);  // dead without its client
    f.part().put_client({.uaid = f.uaid});
    CHECK(digest() != one);
    f.reopen();
    CHECK(f.part().digest(at(100)) != one);
}
