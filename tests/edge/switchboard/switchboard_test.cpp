#include "edge/switchboard/switchboard.hpp"

#include "edge/loop/shard_loop.hpp"

#include <atomic>
#include <future>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using edge::Sent;
using edge::ShardLoop;
using edge::Switchboard;

namespace {

constexpr core::Partition kPartitions = 4;

/// Two shards; partition p lives on shard p mod 2.
struct Board {
    core::SystemClock clock;
    ShardLoop zero{"edge-0", clock};
    ShardLoop one{"edge-1", clock};
    Switchboard board{kPartitions, {&zero, &one}};

    void start() {
        zero.start();
        one.start();
    }
    ~Board() {
        zero.stop();
        one.stop();
    }
};

edge::FromClient frame(core::Partition to, std::string text) {
    return {.session = {.front = {}, .shard = 0, .number = 1},
            .uaid = edge::new_uaid_in(to, kPartitions),
            .command = edge::Nack{std::move(text)}};
}

/// Notes what would go over links.
struct FakeLinks final : edge::NodeTransport {
    Sent to_home(const core::NodeId& node, const edge::ToHome&) override {
        homes.push_back(node.text);
        return Sent::yes;
    }
    Sent to_front(const core::NodeId& node, const edge::ToFront& message) override {
        const auto* close = std::get_if<edge::CloseClient>(&message);
        fronts.push_back(node.text + (close ? " " + close->reason : ""));
        return close ? Sent::yes : frames;
    }
    void flush() override { ++flushes; }
    std::vector<std::string> homes;
    std::vector<std::string> fronts;
    Sent frames = Sent::yes;
    std::atomic<int> flushes{0};
};

const core::NodeId kSelf{"self"};
const core::NodeId kOther{"other"};

/// A board with links, which is given its routes before anything runs.
struct LinkedBoard : Board {
    LinkedBoard() { board.connect_links(kSelf, links); }
    /// Runs what was posted.
    void run_until_idle() {
        start();
        for (int i = 0; i < 2; ++i) {
            zero.run_and_wait([] {});
            one.run_and_wait([] {});
        }
    }
    FakeLinks links;
};

}  // namespace

TEST_CASE("a client of another node's home goes over the link") {
    LinkedBoard b;
    CHECK_FALSE(b.board.homes(0).home_of(frame(0, "x").uaid));  // nobody is placed yet
    b.board.route(0, kOther);
    b.board.route(1, kSelf);
    b.run_until_idle();
    b.zero.run_and_wait([&] {
        auto& homes = b.board.homes(0);
        const auto node = homes.home_of(frame(0, "x").uaid);
        REQUIRE(node);
        CHECK(homes.to_home(*node, frame(0, "x")) == Sent::yes);
        CHECK(homes.to_home(*node, frame(0, "y")) == Sent::yes);
        CHECK(b.links.flushes == 0);
        CHECK(homes.home_of(frame(1, "x").uaid) == edge::NodeNumber{});
    });
    CHECK(b.links.homes == std::vector<std::string>{"other", "other"});
    b.zero.run_and_wait([] {});
    CHECK(b.links.flushes == 1);  // once for the whole turn
}

TEST_CASE("messages of a home to a front of another node go over the link") {
    LinkedBoard b;
    const edge::SessionId session{.front = kOther, .shard = 0, .number = 7};
    b.board.fronts(0).to_front(edge::ToClient{.session = session, .text = "x"});
    b.links.frames = Sent::full;
    b.board.fronts(0).to_front(edge::ToClient{.session = session, .text = "y"});
    CHECK(b.links.fronts == std::vector<std::string>{"other", "other", "other Overloaded"});
}

TEST_CASE("a request over a link to a home that has gone is refused") {
    LinkedBoard b;
    auto message = frame(0, "x");
    message.session.front = kOther;
    b.board.arrived({.to_homes = {edge::ToHome{message}}, .to_fronts = {}});
    b.run_until_idle();
    CHECK(b.links.fronts == std::vector<std::string>{"other NotServing"});
}

TEST_CASE("fronts and homes are notified of moved partitions and lost links") {
    LinkedBoard b;
    std::vector<core::Partition> moved;
    std::vector<std::string> lost;
    b.board.listen(0, {.moved = [&](core::Partition p) { moved.push_back(p); },
                       .peer_lost =
                           [&](edge::NodeNumber number, const core::NodeId& node) {
                               lost.push_back(std::to_string(number.value) + node.text);
                           }});
    b.board.route(2, kOther);
    b.board.route(2, kOther);
    b.board.peer_up(kOther);
    b.board.peer_lost(kOther);
    b.run_until_idle();
    CHECK(moved == std::vector<core::Partition>{2});
    CHECK(lost == std::vector<std::string>{"1other"});
}

TEST_CASE("a node without partitions gives new clients to a linked node") {
    LinkedBoard b;
    b.board.route(3, kOther);
    b.run_until_idle();
    b.zero.run_and_wait([&] { CHECK_FALSE(b.board.near(0)); });
    b.board.peer_up(kOther);
    b.zero.run_and_wait([] {});
    b.zero.run_and_wait([&] { CHECK(b.board.near(0) == 3); });
}

TEST_CASE("a message reaches its home on either shard, in order") {
    Board b;
    const core::Partition to = GENERATE(0, 1);
    CAPTURE(to);
    auto& home_loop = to == 0 ? b.zero : b.one;
    std::vector<std::string> received;
    std::promise<bool> done;
    b.board.connect_home(to, [&](edge::ToHome m) {
        received.push_back(std::get<edge::Nack>(std::get<edge::FromClient>(m).command).version);
        if (received.size() == 3) done.set_value(home_loop.in_loop());
    });
    b.start();
    b.zero.post([&b, to] {
        for (const char* text : {"a", "b", "c"}) b.board.homes(0).to_home({}, frame(to, text));
    });
    CHECK(done.get_future().get());
    CHECK(received == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("a home never runs within the sender's call") {
    Board b;
    bool within = false;
    bool sending = false;
    std::promise<void> done;
    b.board.connect_home(0, [&](edge::ToHome) {
        within = sending;
        done.set_value();
    });
    b.start();
    b.zero.post([&] {
        sending = true;
        b.board.homes(0).to_home({}, frame(0, "x"));
        sending = false;
    });
    done.get_future().wait();
    CHECK_FALSE(within);
}

TEST_CASE("a frame to a home that is not there is refused") {
    Board b;
    CHECK(b.board.homes(0).to_home({}, frame(0, "x")) == Sent::away);
    b.board.connect_home(0, [](edge::ToHome) {});
    CHECK(b.board.homes(0).to_home({}, frame(0, "x")) == Sent::yes);
    b.board.connect_home(0, {});
    CHECK(b.board.homes(0).to_home({}, frame(0, "x")) == Sent::away);
}

TEST_CASE("a full route refuses frames, but not the one that ends a session") {
    std::size_t frames = 0;  // the board's last turns count, too
    std::size_t detached = 0;
    Board b;
    const core::Partition to = GENERATE(0, 1);
    CAPTURE(to);
    b.board.connect_home(to, [&](edge::ToHome m) {
        std::holds_alternative<edge::Detach>(m) ? ++detached : ++frames;
    });
    // Nothing runs yet: all of it waits.
    const auto message = frame(to, "x");
    std::size_t taken = 0;
    const auto send = [&] {
        return b.board.homes(0).to_home({}, edge::FromClient{message}) == Sent::yes;
    };
    while (taken <= Switchboard::kWaitingMax && send()) ++taken;
    CHECK(taken == Switchboard::kWaitingMax);
    CHECK(b.board.homes(0).to_home(
              {}, edge::Detach{.session = message.session, .uaid = message.uaid}) == Sent::yes);
    b.start();
    for (int i = 0; i < 2; ++i) {
        b.zero.run_and_wait([] {});
        b.one.run_and_wait([] {});
    }
    b.zero.run_and_wait([] {});
    CHECK(frames == Switchboard::kWaitingMax);
    CHECK(detached == 1);
    bool again = false;
    b.zero.run_and_wait([&] { again = send(); });
    CHECK(again);
}

TEST_CASE("a client whose frame finds the route full is closed") {
    Board b;
    std::size_t texts = 0;
    std::vector<edge::CloseClient> closed;
    b.board.connect_front(1, [&](edge::ToFront m) {
        if (auto* close = std::get_if<edge::CloseClient>(&m)) {
            closed.push_back(*close);
        } else {
            ++texts;
        }
    });
    const edge::SessionId session{.front = {}, .shard = 1, .number = 7};
    for (std::size_t i = 0; i <= Switchboard::kWaitingMax; ++i) {
        b.board.fronts(0).to_front(edge::ToClient{.session = session, .text = "x"});
    }
    b.start();
    b.zero.run_and_wait([] {});
    b.zero.run_and_wait([] {});
    b.one.run_and_wait([] {});
    CHECK(texts == Switchboard::kWaitingMax);
    REQUIRE(closed.size() == 1);
    CHECK(closed[0].code == edge::CloseCode::try_again);
    CHECK(closed[0].session == session);
    CHECK(closed[0].kind == edge::CloseClient::Kind::held);  // its home still has the session
}

TEST_CASE("new clients get partitions of their own shard first, in turn") {
    Board b;
    CHECK_FALSE(b.board.near(0));
    b.board.set_serving(1, true);
    CHECK(b.board.near(0) == 1);  // of another shard, but served
    b.board.set_serving(0, true);
    b.board.set_serving(2, true);
    CHECK(b.board.near(0) == 2);
    CHECK(b.board.near(0) == 0);
    CHECK(b.board.near(0) == 2);
    CHECK(b.board.near(1) == 1);
}
