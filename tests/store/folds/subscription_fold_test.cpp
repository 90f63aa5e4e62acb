#include "store/edge_fixture.hpp"
#include "store/edge_store.hpp"

#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::store;

using namespace beckon::store::test;

namespace {

using Stamp = std::optional<core::WriteStamp>;

/// Speaks to one client's records: `(epoch, seq)`, or none for a bridged client.
struct Records : EdgeFixture {
    bool put_client(Stamp stamp, std::int64_t last_seen_s = 0) {
        core::ClientRecorded event;
        event.uaid = uaid;
        event.created = at(0);
        event.last_seen = at(last_seen_s);
        event.stamp = stamp;
        return part().put_client(event);
    }
    bool remove_client(Stamp stamp) { return part().remove_client({uaid, stamp}, at(0)); }
    bool put_channel(std::string_view name, Stamp stamp, std::string_view vapid = "") {
        core::ChannelRecorded event;
        event.uaid = uaid;
        event.channel = channel_of(name);
        event.created = at(1);
        if (!vapid.empty()) event.vapid_sha256 = vapid;
        event.stamp = stamp;
        return part().put_channel(event);
    }
    bool remove_channel(std::string_view name, Stamp stamp) {
        return part().remove_channel({uaid, channel_of(name), stamp}, at(0));
    }
    std::string channels() {
        std::string names;
        for (const auto& channel : part().channels(uaid)) {
            names += names.empty() ? "" : " ";
            names += name_of(channel.channel.bytes);
        }
        return names;
    }
    /// Half of the cases run over committed rows, half over uncommitted ones.
    void maybe_commit() {
        if (to_disk) {
            commit();
            reopen();
        }
    }
    bool to_disk = GENERATE(false, true);
};

core::WriteStamp stamp(core::Epoch epoch, std::uint64_t seq) { return {epoch, seq}; }

}  // namespace

TEST_CASE("a client and its channels come back as they were recorded") {
    Records r;
    core::ClientRecorded event;
    event.uaid = r.uaid;
    event.router_type = core::RouterType::fcm;
    event.router_data = R"({"token":"t"})";
    event.created = at(1);
    event.last_seen = at(2);
    r.part().put_client(event);
    r.put_channel("c1", std::nullopt, "ab12");
    r.put_channel("c2", std::nullopt);
    r.maybe_commit();
    const auto client = r.part().client(r.uaid);
    REQUIRE(client);
    CHECK(client->router_type == core::RouterType::fcm);
    CHECK(client->router_data == R"({"token":"t"})");
    CHECK(client->created == at(1));
    CHECK(client->last_seen == at(2));
    CHECK_FALSE(client->stamp);
    CHECK(r.channels() == "c1 c2");
    REQUIRE(r.part().channel(r.uaid, channel_of("c1")));
    CHECK(r.part().channel(r.uaid, channel_of("c1"))->vapid_sha256 == "ab12");
    CHECK(r.part().channel(r.uaid, channel_of("c2"))->vapid_sha256.empty());
    CHECK_FALSE(r.part().channel(r.uaid, channel_of("c3")));
    CHECK_FALSE(r.part().client(uaid_of("client-2")));
}

TEST_CASE("of two records of a client the greater (epoch, seq) wins") {
    Records r;
    CHECK(r.put_client(stamp(2, 5), 50));
    r.maybe_commit();
    CHECK_FALSE(r.put_client(stamp(2, 4), 40));
    CHECK_FALSE(r.put_client(stamp(1, 99), 99));
    CHECK_FALSE(r.remove_client(stamp(1, 99)));
    CHECK(r.part().client(r.uaid)->last_seen == at(50));
    CHECK(r.put_client(stamp(2, 6), 60));
    CHECK(r.put_client(stamp(3, 1), 70));
    CHECK(r.part().client(r.uaid)->last_seen == at(70));
}

TEST_CASE("the same record again is no loser, and changes nothing") {
    Records r;
    r.put_client(stamp(2, 5), 50);
    r.put_channel("c1", stamp(2, 6), "aa");
    r.maybe_commit();
    CHECK(r.put_client(stamp(2, 5), 50));
    CHECK(r.put_channel("c1", stamp(2, 6), "aa"));
    CHECK(r.part().client(r.uaid)->last_seen == at(50));
    CHECK(r.channels() == "c1");
}

TEST_CASE("a removed client stays removed, whatever a former home still writes") {
    Records r;
    r.put_client(stamp(1, 1));
    r.put_channel("c1", stamp(1, 2));
    CHECK(r.remove_client(stamp(2, 1)));
    r.maybe_commit();
    CHECK_FALSE(r.part().client(r.uaid));
    CHECK(r.channels().empty());
    CHECK_FALSE(r.put_client(stamp(1, 9)));
    CHECK_FALSE(r.put_channel("c1", stamp(1, 10)));
    CHECK_FALSE(r.remove_channel("c1", stamp(1, 11)));
    CHECK_FALSE(r.part().client(r.uaid));
    CHECK(r.put_client(stamp(2, 2)));
    CHECK(r.channels().empty());  // what died stays dead
}

TEST_CASE("a removal that comes before its client is remembered too") {
    Records r;
    CHECK(r.remove_client(stamp(2, 1)));
    CHECK(r.remove_channel("c1", stamp(2, 2)));
    r.maybe_commit();
    CHECK_FALSE(r.put_client(stamp(1, 5)));
    CHECK_FALSE(r.put_channel("c1", stamp(1, 6)));
    CHECK(r.put_client(stamp(3, 1)));
    CHECK(r.put_channel("c1", stamp(3, 2)));
    CHECK(r.channels() == "c1");
}

TEST_CASE("a channel that is newer than its client's removal lives when the client does") {
    Records r;
    r.put_client(stamp(1, 1));
    r.put_channel("old", stamp(1, 2));
    r.put_channel("new", stamp(3, 1));
    r.maybe_commit();
    CHECK(r.remove_client(stamp(2, 1)));
    r.maybe_commit();
    CHECK(r.channels().empty());
    CHECK_FALSE(r.part().channel(r.uaid, channel_of("new")));
    r.put_client(stamp(3, 2));
    CHECK(r.channels() == "new");
}

TEST_CASE("a channel may be read before its client, and is dead until then") {
    Records r;
    CHECK(r.put_channel("c1", stamp(1, 1)));
    r.maybe_commit();
    CHECK(r.channels().empty());
    CHECK_FALSE(r.part().channel(r.uaid, channel_of("c1")));
    r.put_client(stamp(1, 2));
    CHECK(r.channels() == "c1");
}

TEST_CASE("an unregistered channel stays so, until a newer record") {
    Records r;
    r.put_client(stamp(1, 1));
    r.put_channel("c1", stamp(1, 2));
    r.put_channel("c2", stamp(1, 3));
    r.maybe_commit();
    CHECK(r.remove_channel("c1", stamp(1, 4)));
    r.maybe_commit();
    CHECK(r.channels() == "c2");
    CHECK_FALSE(r.put_channel("c1", stamp(1, 3)));
    CHECK(r.channels() == "c2");
    CHECK(r.put_channel("c1", stamp(1, 5)));
    CHECK(r.channels() == "c1 c2");
}

TEST_CASE("bridged records carry no stamp and fold in the order of the log") {
    Records r;
    r.put_client(std::nullopt, 1);
    r.put_channel("c1", std::nullopt);
    r.maybe_commit();
    CHECK(r.put_client(std::nullopt, 2));
    CHECK(r.part().client(r.uaid)->last_seen == at(2));
    CHECK(r.remove_client(std::nullopt));
    CHECK_FALSE(r.part().client(r.uaid));
    CHECK(r.channels().empty());
    CHECK(r.put_client(std::nullopt, 3));
    CHECK(r.channels().empty());
    CHECK(r.put_channel("c1", std::nullopt));
    CHECK(r.channels() == "c1");
}

// Verified to fail when put_channel() does not update the table of stale writes.
TEST_CASE(
    "a record that lost is remembered until a newer one, or the stored value again, is read") {
    Records r;
    const StaleWrite client{r.uaid, std::nullopt};
    const StaleWrite channel{r.uaid, channel_of("c1")};
    using All = std::vector<StaleWrite>;
    const auto stale_writes = [&] {
        r.maybe_commit();
        return r.part().stale_writes_after(std::nullopt, 10);
    };
    r.put_client(stamp(2, 1));
    r.put_channel("c1", stamp(2, 2));
    CHECK(stale_writes().empty());
    CHECK_FALSE(r.remove_client(stamp(1, 9)));
    CHECK_FALSE(r.remove_channel("c1", stamp(1, 10)));
    CHECK(stale_writes() == All{client, channel});
    CHECK(r.part().stale_writes_after(client, 10) == All{channel});
    CHECK(r.part().stale_writes_after(std::nullopt, 1) == All{client});
    CHECK(r.put_channel("c1", stamp(3, 1)));  // newer
    CHECK(stale_writes() == All{client});
    CHECK(r.put_client(stamp(2, 1)));  // the same again
    CHECK(stale_writes().empty());
    CHECK_FALSE(r.put_client(stamp(1, 11)));
    CHECK(stale_writes() == All{client});
    REQUIRE(r.part().clear());
    CHECK(stale_writes().empty());
}

TEST_CASE("the channels that go with a client are stale writes until their tombstones are read") {
    Records r;
    r.put_client(stamp(2, 1));
    r.put_channel("c1", stamp(2, 2));
    r.put_channel("c2", stamp(2, 3));
    r.remove_channel("c2", stamp(2, 4));  // has its tombstone already
    CHECK(r.remove_client(stamp(2, 5)));
    r.maybe_commit();
    CHECK(r.part().stale_writes_after(std::nullopt, 10) ==
          std::vector<StaleWrite>{{r.uaid, channel_of("c1")}});
    CHECK(r.remove_channel("c1", stamp(2, 6)));
    r.maybe_commit();
    CHECK(r.part().stale_writes_after(std::nullopt, 10).empty());
}

TEST_CASE("living clients are passed on a page at a time") {
    Records r;
    r.put_client(stamp(2, 1), 7);
    REQUIRE(r.part().commit());
    const auto page = r.part().clients_after(std::nullopt, 10);
    REQUIRE(page.clients.size() == 1);
    CHECK(page.clients[0].first == r.uaid);
    CHECK(page.clients[0].second.last_seen == at(7));
    CHECK_FALSE(page.next);
    CHECK(r.part().clients_after(r.uaid, 10).clients.empty());
    CHECK(r.part().clients_after(std::nullopt, 1).clients.size() == 1);
    CHECK_FALSE(r.part().clients_after(std::nullopt, 1).next);
    r.remove_client(stamp(2, 2));
    REQUIRE(r.part().commit());
    CHECK(r.part().clients_after(std::nullopt, 10).clients.empty());
}

TEST_CASE("a page of clients ends after so many rows, though the clients were removed") {
    Records r;
    for (int i = 0; i < 7; ++i) {
        r.uaid.bytes[15] = static_cast<std::uint8_t>(i);
        r.put_client(stamp(2, 1));
        if (i < 6) r.remove_client(stamp(2, 2));
    }
    REQUIRE(r.part().commit());
    std::vector<std::size_t> living;
    std::optional<core::Uaid> after;
    do {
        const auto page = r.part().clients_after(after, 3);
        living.push_back(page.clients.size());
        after = page.next;
    } while (after);
    CHECK(living == std::vector<std::size_t>{0, 0, 1});
}
