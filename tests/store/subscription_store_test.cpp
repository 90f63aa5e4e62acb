#include "store/subscription_store.hpp"

#include "store/edge_fixture.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::store;

using namespace beckon::store::test;

namespace {

constexpr core::Partition kPartitions = 16;

struct View {
    View() { open(); }
    void open() {
        store.reset();
        auto opened = SubscriptionStore::open(options);
        if (!opened) throw std::runtime_error(opened.error().message);
        store = std::move(*opened);
    }
    core::Partition home(const core::Uaid& uaid) const {
        return core::partition_of(uaid, options.partitions);
    }
    bool put_client(const core::Uaid& uaid, std::string_view router_data = "") {
        core::ClientRecorded event;
        event.uaid = uaid;
        if (!router_data.empty()) {
            event.router_type = core::RouterType::apns;
            event.router_data = router_data;
        }
        return store->fold(home(uaid), event, at(0));
    }
    bool put_channel(const core::Uaid& uaid, std::string_view name) {
        core::ChannelRecorded event;
        event.uaid = uaid;
        event.channel = channel_of(name);
        return store->fold(home(uaid), event, at(0));
    }

    beckon::test::TempDir dir;
    SubscriptionStoreOptions options{.directory = dir / "view",
                                     .log_id = "log-1",
                                     .partitions = kPartitions,
                                     .memory = std::make_shared<rocks::Memory>(8U << 20, 4U << 20)};
    std::unique_ptr<SubscriptionStore> store;
};

}  // namespace

TEST_CASE("the view distinguishes an unknown client from an unknown channel") {
    View v;
    const auto uaid = uaid_of("client-1");
    v.put_client(uaid);
    v.put_channel(uaid, "c1");
    REQUIRE(v.store->commit());
    CHECK_FALSE(v.store->find(uaid_of("client-2"), channel_of("c1")).value());
    REQUIRE(v.store->find(uaid, channel_of("c2")).value());
    CHECK_FALSE(v.store->find(uaid, channel_of("c2")).value()->channel_known);
    REQUIRE(v.store->find(uaid, channel_of("c1")).value());
    CHECK(v.store->find(uaid, channel_of("c1")).value()->channel_known);
    CHECK(v.store->find(uaid, channel_of("c1")).value()->router_type == core::RouterType::webpush);
}

TEST_CASE("lookups see committed rows, across a restart too") {
    View v;
    const auto uaid = uaid_of("client-1");
    v.put_client(uaid, R"({"token":"x"})");
    v.put_channel(uaid, "c1");
    v.put_channel(uaid, "c2");
    v.store->advance(v.home(uaid), 7, at(3));
    CHECK_FALSE(v.store->find(uaid, channel_of("c1")).value());
    CHECK(v.store->checkpoint(v.home(uaid))->next == 7);
    REQUIRE(v.store->commit());
    v.open();
    REQUIRE(v.store->client(uaid).value());
    CHECK(v.store->client(uaid).value()->router_data == R"({"token":"x"})");
    CHECK(v.store->find(uaid, channel_of("c1")).value()->router_type == core::RouterType::apns);
    CHECK(v.store->find(uaid, channel_of("c1")).value()->router_data == R"({"token":"x"})");
    CHECK(v.store->channels(uaid).value() == std::vector{channel_of("c1"), channel_of("c2")});
    REQUIRE(v.store->checkpoint(v.home(uaid)));
    CHECK(v.store->checkpoint(v.home(uaid))->next == 7);
    CHECK(v.store->checkpoint(v.home(uaid))->caught_up == at(3));
}

TEST_CASE("records that were folded and not committed are folded again after a crash") {
    View v;
    const auto uaid = uaid_of("client-1");
    v.put_client(uaid);
    v.store->advance(v.home(uaid), 1, std::nullopt);
    v.open();
    CHECK_FALSE(v.store->client(uaid).value());
    CHECK_FALSE(v.store->checkpoint(v.home(uaid)));
}

TEST_CASE("a commit of the view is due when much has collected") {
    View v;
    const auto uaid = uaid_of("client-1");
    v.put_client(uaid);
    CHECK_FALSE(v.store->commit_due());
    for (int i = 0; i < 10'000; ++i) v.put_channel(uaid, "c" + std::to_string(i));
    CHECK(v.store->commit_due());
    REQUIRE(v.store->commit());
    CHECK_FALSE(v.store->commit_due());
}

TEST_CASE("a channel without its client is dead for every reader of the view") {
    View v;
    const auto uaid = uaid_of("client-1");
    v.put_channel(uaid, "c1");
    REQUIRE(v.store->commit());
    CHECK_FALSE(v.store->find(uaid, channel_of("c1")).value());
    CHECK(v.store->channels(uaid).value().empty());
    const auto dead = v.store->digest();
    v.put_client(uaid);
    REQUIRE(v.store->commit());
    CHECK(v.store->find(uaid, channel_of("c1")).value()->channel_known);
    CHECK(v.store->digest() != dead);
}

TEST_CASE("the channels of a client are counted up to a bound, removed ones too") {
    View v;
    const auto uaid = uaid_of("client-1");
    v.put_client(uaid);
    for (const auto* name : {"c1", "c2", "c3"}) v.put_channel(uaid, name);
    v.store->fold(v.home(uaid),
                  core::ChannelRemoved{.uaid = uaid, .channel = channel_of("c2"), .stamp = {}},
                  at(1));
    REQUIRE(v.store->commit());
    const auto count = v.store->count_channels(uaid, 10).value();
    CHECK(count.living == 2);
    CHECK(count.rows == 3);
    CHECK(v.store->count_channels(uaid, 2).value().rows == 2);
    CHECK(v.store->count_channels(uaid_of("client-2"), 10).value().rows == 0);

    const store::ChannelLimit limit{3};
    CHECK(limit.left({.living = 2, .rows = 3}) == 1);
    CHECK(limit.left({.living = 0, .rows = 5}) == 1);
    CHECK(limit.left({.living = 0, .rows = 6}) == 0);
    CHECK(limit.left({.living = 9, .rows = 9}) == 0);
}

TEST_CASE("a dead token ends its client, and no client that has another one") {
    View v;
    const auto uaid = uaid_of("client-1");
    const auto publish_gone = [&](std::string_view token) {
        v.store->fold(v.home(uaid), core::ClientGone{uaid, core::hash_of_token(token)}, at(1));
        if (GENERATE(false, true)) REQUIRE(v.store->commit());
    };
    publish_gone("one");  // of a client that is not known yet
    v.put_client(uaid, R"({"token":"one"})");
    v.put_channel(uaid, "c1");
    publish_gone("two");
    REQUIRE(v.store->commit());
    REQUIRE(v.store->find(uaid, channel_of("c1")).value());

    publish_gone("one");
    REQUIRE(v.store->commit());
    CHECK_FALSE(v.store->find(uaid, channel_of("c1")).value());
    CHECK_FALSE(v.store->client(uaid).value());
    CHECK(v.store->channels(uaid).value().empty());

    v.put_client(uaid, R"({"token":"two"})");  // it was on its way meanwhile
    REQUIRE(v.store->commit());
    REQUIRE(v.store->find(uaid, channel_of("c1")).value());
    CHECK(v.store->find(uaid, channel_of("c1")).value()->channel_known);
}

TEST_CASE("a view that is folded anew has the same clients after a token's end") {
    View live;
    View anew;
    const auto uaid = uaid_of("client-1");
    const core::ClientGone gone{uaid, core::hash_of_token("one")};
    live.put_client(uaid, R"({"token":"one"})");
    live.put_channel(uaid, "c1");
    live.store->fold(live.home(uaid), gone, at(1));
    live.put_client(uaid, R"({"token":"two"})");
    REQUIRE(live.store->commit());
    // Compaction has kept the last record of each key only.
    anew.put_channel(uaid, "c1");
    anew.store->fold(anew.home(uaid), gone, at(1));
    anew.put_client(uaid, R"({"token":"two"})");
    REQUIRE(anew.store->commit());
    CHECK(live.store->digest() == anew.store->digest());
}

TEST_CASE("read barriers, leases and unknown records change nothing in the view") {
    View v;
    const auto before = v.store->digest();
    CHECK(v.store->fold(0, core::BarrierRecord{.node = "n"}, at(0)));
    CHECK(v.store->fold(0, core::Lease{}, at(0)));
    CHECK(v.store->fold(0, core::Unknown{.why = "?"}, at(0)));
    REQUIRE(v.store->commit());
    CHECK(v.store->digest() == before);
}

TEST_CASE("clearing one partition of the view leaves the others") {
    View v;
    const auto here = uaid_of("client-1");
    auto there = uaid_of("client-2");
    for (char c = '2'; v.home(there) == v.home(here); ++c) there = uaid_of({&c, 1});
    for (const auto& uaid : {here, there}) {
        v.put_client(uaid);
        v.put_channel(uaid, "c1");
        v.store->advance(v.home(uaid), 5, std::nullopt);
    }
    REQUIRE(v.store->clear(v.home(here)));
    CHECK_FALSE(v.store->find(here, channel_of("c1")).value());
    CHECK_FALSE(v.store->checkpoint(v.home(here)));
    CHECK(v.store->find(there, channel_of("c1")).value()->channel_known);
    CHECK(v.store->checkpoint(v.home(there))->next == 5);
    v.put_client(here);
    REQUIRE(v.store->commit());
    CHECK_FALSE(v.store->find(here, channel_of("c1")).value()->channel_known);
}

TEST_CASE("a view of another partition count is set aside") {
    View v;
    v.put_client(uaid_of("client-1"));
    REQUIRE(v.store->commit());
    v.store.reset();
    v.options.partitions = 8;
    v.open();
    CHECK_FALSE(v.store->client(uaid_of("client-1")).value());
    CHECK(std::filesystem::exists(v.dir / "view.set-aside-1"));
}

TEST_CASE("other threads look up while one folds") {
    View v;
    std::atomic<int> committed = 0;
    std::atomic<bool> wrong = false;
    const auto nth = [](int i) { return uaid_of("client-" + std::to_string(i)); };
    const auto reader = [&] {
        while (committed < 300 && !wrong) {
            const int last = committed;
            if (last == 0) continue;
            const auto found = v.store->find(nth(last - 1), channel_of("c1"));
            if (!found || !*found || !(*found)->channel_known) wrong = true;
        }
    };
    std::thread a{reader};
    std::thread b{reader};
    for (int i = 0; i < 300; ++i) {
        v.put_client(nth(i));
        v.put_channel(nth(i), "c1");
        if (!v.store->commit()) wrong = true;
        committed = i + 1;
    }
    a.join();
    b.join();
    CHECK_FALSE(wrong);
}
